// SPDX-License-Identifier: Apache-2.0

// Package quantity formats values with their units for people.
//
// Input: a value in the unit of records and documents ("ms", "share", "1/s", "By", ...).
// Output: text with as many digits as the measurement is exact to, never in scientific
// notation, and without thousands separators, as in the JSON documents.
//
// A measured value has three significant digits, two below 1, and at most three decimals:
// histograms have a relative error of up to 0.5 %. Values below 0.001 are "<0.001": only
// 0 is "0", and only a share of 1 is "100 %". Counts and configured values are exact.
package quantity
