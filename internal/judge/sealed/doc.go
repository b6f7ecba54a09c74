// Package sealed judges sealed run folders again, publishes their certificates, and compares
// them, offline.
//
// Input: run folders. Output: a Result, the files of a certificate, a comparison. It makes no
// load and reaches no server.
package sealed
