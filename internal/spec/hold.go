// SPDX-License-Identifier: Apache-2.0

package spec

import (
	"fmt"
	"time"
)

// MaxLooks is the maximum number of interim looks at an undecided hold: at its end,
// and at the end of each extension up to hold_max. The alpha of the inferred test is
// spent over the looks, so that many of them would weaken each (docs/calibration.md).
const MaxLooks = 4

// holdMaxFault says why hold_max does not fit the hold; both are valid by themselves.
func (l Load) holdMaxFault() (problem, hint string) {
	looks := l.HoldMax / l.Hold
	switch {
	case l.HoldMax <= l.Hold:
		return fmt.Sprintf("hold_max %v is not longer than the hold of %v", l.HoldMax, l.Hold), fmt.Sprintf(`write "%v", or omit it`, 2*l.Hold)
	case l.HoldMax > MaxLooks*l.Hold:
		return fmt.Sprintf("hold_max %v is more than %d times the hold of %v", l.HoldMax, MaxLooks, l.Hold), fmt.Sprintf(`write at most "%v", or a longer hold`, MaxLooks*l.Hold)
	case l.HoldMax%l.Hold != 0 && looks == 1:
		return fmt.Sprintf("hold_max %v is not a multiple of the hold of %v", l.HoldMax, l.Hold), fmt.Sprintf(`write "%v"`, 2*l.Hold)
	case l.HoldMax%l.Hold != 0:
		return fmt.Sprintf("hold_max %v is not a multiple of the hold of %v", l.HoldMax, l.Hold), fmt.Sprintf(`write "%v" or "%v"`, looks*l.Hold, (looks+1)*l.Hold)
	}
	return "", ""
}

// withHold is the load with another hold. hold_max stays if it is a multiple of the
// new hold too; otherwise it changes to keep the number of looks.
func (l Load) withHold(d time.Duration) Load {
	looks := time.Duration(1)
	if l.HoldMax > 0 && l.Hold > 0 {
		looks = l.HoldMax / l.Hold
	}
	l.Hold = d
	switch {
	case l.HoldMax == 0 || d <= 0:
	case l.HoldMax == d: // nothing left to extend
		l.HoldMax = 0
	default:
		if problem, _ := l.holdMaxFault(); problem != "" {
			l.HoldMax = looks * d
		}
	}
	return l
}
