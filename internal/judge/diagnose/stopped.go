package diagnose

import (
	"fmt"
	"strings"
)

// minStopped is the share of the time for which the service was stopped, or throttled by
// its CPU quota, from which its delays are charged to that (ours).
const minStopped = 0.05

// stoppedShare is the share of a window for which the service was stopped or throttled.
func (l *layout) stoppedShare(w window) float64 {
	if w.parts == nil {
		return 0
	}
	return min(1, (w.sum[serviceStopped]+w.sum[serviceThrottled])/w.sum[seconds])
}

// serviceStopped reports whether the service did not run for part of the window, and for
// twice as much of it as at the baseline.
func (c comparison) serviceStopped() bool {
	share := c.stoppedShare(c.hold)
	return share >= minStopped && (c.noBaseline || share >= 2*c.stoppedShare(c.base))
}

// chargeStopped charges to a service that was stopped or throttled all that it measures
// itself and its callers measure of it: also the wait for a response that has arrived, and
// for connections that were held meanwhile.
func (c comparison) chargeStopped(charged parts) {
	if !c.serviceStopped() {
		return
	}
	for _, name := range []string{Network, Unmeasured, Downstream, Pool, ConnectionStorm} {
		charged.move(c.index[name], c.index[Service])
	}
}

// stoppedSentence says for how long the service did not run; empty: not by so much that it
// was charged.
func (c comparison) stoppedSentence() string {
	if !c.serviceStopped() {
		return ""
	}
	var how []string
	for _, of := range []struct {
		column columnIndex
		what   string
	}{
		{serviceStopped, "stopped (state T: by a signal or a debugger)"},
		{serviceThrottled, "throttled by its CPU quota"},
	} {
		if share := c.hold.sum[of.column] / c.hold.sum[seconds]; share > 0 {
			how = append(how, fmt.Sprintf("%s for %s of the time", of.what, percent(share)))
		}
	}
	return "The service's process was " + strings.Join(how, ", and ") + "."
}
