// Package attacktest attacks an HTTP server as a hostile client does, for tests: idle
// connections, headers that never end, oversized bodies, wrong tokens.
//
// Input: a server, and the number and time that bound the attack. Output: how each
// connection or request ended.
package attacktest
