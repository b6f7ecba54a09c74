// Package k6 is the embedded k6: its entry point, and the output that turns its
// samples into frames. A worker is this binary run as
// `assay k6 run ...`.
//
// Input: k6's samples and the executor's transactions. Output: frames and
// acknowledged identities, sent to the coordinator.
package k6
