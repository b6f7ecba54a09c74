// Package local is the engine that runs workers as child processes on this
// host.
package local
