// Package forecast says before a run what its plan can decide: for each SLO the
// samples that it will have, those that it needs, and the hold that would do.
//
// Input: a profile, its plan and scope, and what earlier runs of the profile gave.
// Output: a Forecast for each SLO that samples decide. It is pure, and promises
// nothing: the run decides.
package forecast
