// Package statefile passes state between processes in files: running servers and
// their secrets.
//
// Input and output: values that encoding/json can write. A reader sees the old file or
// the new one, never half of it, and only the owner can read either.
package statefile
