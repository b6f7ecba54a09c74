// SPDX-License-Identifier: Apache-2.0

package metric

// since is the increase of a cumulative histogram since an earlier state; false where
// that state holds what h does not.
func (h *Hist) since(before *Hist) (*Hist, bool) {
	d, b := h.Clone(), before
	if d.coarse < b.coarse {
		d.coarsen(b.Scale())
	} else if d.coarse > b.coarse {
		b = b.Clone()
		b.coarsen(d.Scale())
	}
	for i, n := range b.counts {
		at := b.offset + i - d.offset
		switch {
		case n == 0:
		case at < 0 || at >= len(d.counts) || d.counts[at] < n:
			return nil, false
		default:
			d.counts[at] -= n
		}
	}
	ranges, ok := subtractRanges(d.ranges(), b.ranges())
	if !ok || d.zero < b.zero || d.total < b.total {
		return nil, false
	}
	d.zero, d.total, d.sum, d.bounds = d.zero-b.zero, d.total-b.total, d.sum-b.sum, nil
	if d.total == 0 {
		return &Hist{}, true
	}
	if len(ranges) > 0 {
		d.bounds = &bounds{ranges: ranges}
	}
	first, last, used := d.used()
	if used {
		d.counts, d.offset = d.counts[first:last+1:last+1], d.offset+first
	} else {
		d.counts, d.offset = nil, 0
	}
	// The extremes of all observations are those of the new ones only if they have
	// changed.
	now, then := h.extremes(), before.extremes()
	d.completeExtremes(histInfo{hasMin: now.lowest == h.min && h.min < then.lowest, hasMax: now.highest == h.max && h.max > then.highest})
	return d, d.check() == nil
}

// subtractRanges is now without before; false where now does not hold all of before.
func subtractRanges(now, before []Range) (rest []Range, ok bool) {
	for _, r := range now {
		if len(before) > 0 && compareRanges(before[0], r) == 0 {
			if before[0].Count > r.Count {
				return nil, false
			}
			r.Count -= before[0].Count
			before = before[1:]
		}
		if r.Count > 0 {
			rest = append(rest, r)
		}
	}
	return rest, len(before) == 0
}
