// SPDX-License-Identifier: Apache-2.0

// Package record writes and reads the run folder: every frame and fact of a run,
// appended while it runs, sealed when it ends, and the only input of the verdict. A
// record whose writer was killed can be continued.
//
// Input: frames and acknowledged identities from the receiver and collectors, persisted
// identities and facts from the run. Output: evidence/ with its manifest, and Open,
// which returns them as a Run. Frames and identities stream through the disk: while it
// is written, a record needs little memory, whatever its size.
package record
