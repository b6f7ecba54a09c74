// Package forecast estimates before a run what its plan can decide: for each SLO the
// samples that it will have, those that it needs, and the hold that would be enough.
//
// Input: a profile, its plan and scope, and statistics of earlier runs of the profile.
// Output: a Forecast for each SLO that is decided by a share of samples. It is pure.
package forecast
