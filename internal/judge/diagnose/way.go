package diagnose

import "fmt"

// wayEvidence says how long requests and statements are on their way, and what was
// measured of the wire.
func (a *analysis) wayEvidence() (all []string) {
	h, n := a.hold.sum, a.ended(a.hold.sum)
	if way := max(0, h[requestTime]-h[serviceTime]) / n; a.known[serviceTime] && a.known[roundTrip] && way >= 1 {
		all = append(all, fmt.Sprintf("Requests take %s per transaction longer to their callers than in the service; a round trip from the collector's host to the service takes %s.",
			ms(way), ms(a.hold.perSecond(roundTrip))))
	}
	if way := max(0, h[queryTime]-a.statementTime(h)) / n; a.known[queryTime] && a.known[queryFastest] && a.databaseKnown(h) && way >= 1 {
		text := fmt.Sprintf("Statements take %s per transaction in the service, and %s of that in the database; the fastest tenth of them take up to %s each",
			ms(a.statementsTime(a.hold)), ms(a.statementTime(h)/n), ms(a.hold.perSecond(queryFastest)))
		if a.base.parts != nil {
			text += fmt.Sprintf(", against %s at the baseline", ms(a.base.perSecond(queryFastest)))
		}
		if a.known[databaseTrip] {
			text += fmt.Sprintf("; a ping from the collector's host to the database takes %s", ms(a.hold.perSecond(databaseTrip)))
		}
		all = append(all, text+".")
	}
	return all
}

// wireShown reports whether measurements of the wire itself show at least half of the
// network's growth. Otherwise it is the difference of two ends, in which a process that
// did not run looks the same.
func (a *analysis) wireShown() bool {
	if a.known[roundTrip] && (a.known[queryFastest] || !a.known[queryTime]) {
		return true
	}
	inferred := func(w window) (ms float64) {
		if w.parts == nil {
			return 0
		}
		if !a.known[roundTrip] {
			wire, _ := a.requestsWay(w.sum)
			ms += wire
		}
		if !a.known[queryFastest] {
			wire, _ := a.statementsWay(w.sum)
			ms += wire
		}
		return ms / a.ended(w.sum)
	}
	grown := inferred(a.hold)
	if !a.noBaseline {
		grown -= inferred(a.base)
	}
	return grown <= a.excessMs[a.index[Network]]/2
}

// slowPath is the part of the network in which most of the charged time is; empty: not
// known, as in records without round trips.
func (a *analysis) slowPath() string {
	if !a.known[roundTrip] || !a.known[queryFastest] {
		return ""
	}
	statements, _ := a.wayOf(a.hold)
	if !a.noBaseline {
		before, _ := a.wayOf(a.base)
		statements -= before
	}
	if statements+a.queued[a.index[Network]] > a.charged[a.index[Network]]/2 {
		return "service and database"
	}
	return "generator and service"
}
