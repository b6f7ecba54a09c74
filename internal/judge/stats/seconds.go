// SPDX-License-Identifier: Apache-2.0

package stats

// Second is one second of a judged window. The seconds of a window are in order of time
// and have its Stratum; a second without samples has N = 0.
type Second = Batch

// Windows splits the seconds by window.
func Windows(seconds []Second) (each [][]Second) {
	from := 0
	for i := range seconds {
		if i+1 == len(seconds) || seconds[i+1].Stratum != seconds[i].Stratum {
			each = append(each, seconds[from:i+1])
			from = i + 1
		}
	}
	return each
}

// MinBatch is the length of the shortest batch, in seconds.
const MinBatch = 2

// batches groups seconds into about b batches of nearly equal length, each within one
// window. A window has at least two if it is long enough, as one has no variance.
func batches(seconds []Second, b int) (all []Batch) {
	for _, w := range Windows(seconds) {
		share := (b*len(w) + len(seconds)/2) / len(seconds)
		n := max(1, min(max(2, share), len(w)/MinBatch))
		for j := range n {
			total := Sum(w[j*len(w)/n : (j+1)*len(w)/n])
			total.Stratum = w[0].Stratum
			all = append(all, total)
		}
	}
	return all
}
