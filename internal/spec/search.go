// SPDX-License-Identifier: Apache-2.0

package spec

// Limits and defaults of a search for the highest rate, for the command line and for
// experiment files. A load whose share of violations is close to the limit gets a
// second trial; further ones would add little, as that share would not change.
const (
	DefaultTrials = 2   // maximum number of trials of a load that is close to the limit
	DefaultWidth  = 0.1 // of the bracket at which the search ends, as a share of its upper bound

	MaxTrials = 20
	MinWidth  = 0.005
	MaxWidth  = 0.5
)
