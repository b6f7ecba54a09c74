package diagnose

import "fmt"

// wayEvidence says how long requests and statements are on their way, and what was
// measured of the wire.
func (c comparison) wayEvidence() (all []string) {
	h, n := c.hold.sum, c.ended(c.hold.sum)
	if way := max(0, h[requestTime]-h[serviceTime]) / n; c.known[serviceTime] && c.known[roundTrip] && way >= 1 {
		all = append(all, fmt.Sprintf("Requests take %s per transaction longer to their callers than in the service; a round trip from the collector's host to the service takes %s.",
			ms(way), ms(c.hold.perSecond(roundTrip))))
	}
	if way := max(0, h[queryTime]-c.statementTime(h)) / n; c.known[queryTime] && c.known[queryFastest] && c.databaseKnown(h) && way >= 1 {
		text := fmt.Sprintf("Statements take %s per transaction in the service, and %s of that in the database; the fastest tenth of them take up to %s each",
			ms(c.statementsTime(c.hold)), ms(c.statementTime(h)/n), ms(c.hold.perSecond(queryFastest)))
		if c.base.parts != nil {
			text += fmt.Sprintf(", against %s at the baseline", ms(c.base.perSecond(queryFastest)))
		}
		if c.known[databaseTrip] {
			text += fmt.Sprintf("; a ping from the collector's host to the database takes %s", ms(c.hold.perSecond(databaseTrip)))
		}
		all = append(all, text+".")
	}
	return all
}

// wireShown reports whether measurements of the wire itself show at least half of the
// network's growth. Otherwise it is the difference of two ends, in which a process that
// did not run looks the same.
func (c charges) wireShown() bool {
	if c.known[roundTrip] && (c.known[queryFastest] || !c.known[queryTime]) {
		return true
	}
	inferred := func(w window) (ms float64) {
		if w.parts == nil {
			return 0
		}
		if !c.known[roundTrip] {
			wire, _ := c.requestsWay(w.sum)
			ms += wire
		}
		if !c.known[queryFastest] {
			wire, _ := c.statementsWay(w.sum)
			ms += wire
		}
		return ms / c.ended(w.sum)
	}
	grown := inferred(c.hold)
	if !c.noBaseline {
		grown -= inferred(c.base)
	}
	return grown <= c.excessMs[c.index[Network]]/2
}

// slowPath is the part of the network in which most of the charged time is; empty: not
// known, as in records without round trips.
func (c charges) slowPath() string {
	if !c.known[roundTrip] || !c.known[queryFastest] {
		return ""
	}
	statements, _ := c.wayOf(c.hold)
	if !c.noBaseline {
		before, _ := c.wayOf(c.base)
		statements -= before
	}
	if statements+c.queued[c.index[Network]] > c.charged[c.index[Network]]/2 {
		return "service and database"
	}
	return "generator and service"
}
