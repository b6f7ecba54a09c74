// Package effect says by what ratio runs B differ from runs A, and whether that
// is a change, no change, or not known (RULEBOOK section 5).
//
// Input: one number above 0 for each run, in pairs or in two groups, and a
// tolerance. Output: an Effect and a Decision. The unit is the run, never the
// request: requests of one run share its cache, its neighbours and its luck.
//
// There is no random source: the bootstrap distribution of a median and the
// distributions of both rank tests are computed, not sampled, so that the same
// numbers give the same bytes.
package effect
