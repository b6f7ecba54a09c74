// Package quantity writes values with their units for people, everywhere alike.
//
// Input: a value in the unit in which records and documents hold it ("ms",
// "share", "1/s", "By", ...). Output: text with as many digits as the
// measurement bears, never in scientific notation, without separators of
// thousands, so that a number of a report is found again in its JSON document.
//
// A measured value has three significant digits, below 1 two: histograms have a
// relative error of up to 0.5 %. Values below 0.001 read "<0.001": only 0 reads
// 0, and only all of it reads 100 %. Counts and what was configured are exact.
package quantity
