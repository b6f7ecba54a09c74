// SPDX-License-Identifier: Apache-2.0

// Package effect estimates by what ratio runs B differ from runs A, and whether that is
// a change, no change, or undetermined (docs/comparing.md).
//
// Input: one number above 0 for each run, in pairs or in two groups, and a tolerance.
// Output: an Effect and a Decision. The unit is the run, never the request: the
// requests of one run are not independent, as they share its caches and its host.
//
// There is no random source: the bootstrap distribution of a median and the
// distributions of both rank tests are computed rather than sampled, so that the
// results are reproducible.
package effect
