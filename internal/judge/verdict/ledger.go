// SPDX-License-Identifier: Apache-2.0

package verdict

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/rulebook"
)

// doubt is how many of the transactions that a ledger shows as missing may be stored all the
// same, and why.
type doubt struct {
	unclear     int64
	why, advice string
}

// doubts are those about the ledgers of a run, or of its flows. Each unclear transaction needs a
// row that is no other one's: what is missing beyond these is lost, whatever the rows hold.
func doubts(r record.Run) (all []doubt) {
	if r.Ledger == nil || r.Ledger.Missing == 0 {
		return nil
	}
	for _, of := range r.PerFlow() {
		c := of.Ledger
		if c == nil || c.Missing == 0 {
			continue
		}
		if c.Unclear > 0 {
			all = append(all, doubt{
				c.Unclear, fmt.Sprintf("%d of %d acknowledgements repeat an identity that has fewer rows than acknowledgements: it is not known whether a transaction was lost", c.Unclear, c.Acknowledged),
				uniqueIdentities,
			})
		}
		sure := c.Missing - c.Unclear
		others := c.Persisted - (c.Acknowledged - c.Missing) // rows of no acknowledged transaction
		if d := formDoubt(of); min(d.unclear, sure, others) > 0 {
			d.unclear = min(d.unclear, sure, others)
			all = append(all, d)
		}
	}
	return all
}

const uniqueIdentities = "Acknowledge each transaction once, by an identity of its own, such as a UUID or `${__ENV.ASSAY_RUN}-${__VU}-${__ITER}`."

// surelyRounded is so many identities over 2^53 that all being exact in JavaScript is no
// chance: half of the smallest of them are.
const surelyRounded = 20

// formDoubt is the doubt that follows from the forms of identities.
func formDoubt(r record.Run) (d doubt) {
	acknowledged := acknowledgedForms(r)
	var persisted ledger.Forms
	if len(r.Facts.Ledger.Forms) > 0 {
		persisted = r.Facts.Ledger.Forms[0]
	}
	shared := false
	for form := range persisted {
		number, _, over := strings.Cut(form, ledger.Over2to53)
		shared = shared || acknowledged[form] > 0 || over && acknowledged[number+ledger.Over2to53]+acknowledged[number+ledger.Rounded] > 0
	}
	if r.Ledger.Matched() == 0 && !shared && len(acknowledged) > 0 && len(persisted) > 0 {
		return doubt{
			math.MaxInt64, fmt.Sprintf("identities differ in form, and none is on both sides: the script acknowledged %s, the query returns %s", acknowledged, persisted),
			"Acknowledge the identity that is stored, or convert the stored one in the profile's query, as by BIN_TO_UUID(id).",
		}
	}
	rounded, exact := int64(0), int64(0)
	for form, n := range acknowledged {
		switch {
		case strings.HasSuffix(form, ledger.Rounded):
			rounded += n
		case strings.HasSuffix(form, ledger.Over2to53):
			exact += n
		}
	}
	if rounded >= surelyRounded && exact == 0 {
		return doubt{
			rounded, fmt.Sprintf("all %d acknowledged identities over 2^53 look as if JavaScript had rounded them", rounded),
			"Take the identity from the text of the response: res.json() rounds numbers over 2^53.",
		}
	}
	return doubt{}
}

// acknowledgedForms are the forms of acknowledged identities.
func acknowledgedForms(r record.Run) ledger.Forms {
	all := ledger.Forms{}
	if r.Timeline == nil {
		return all
	}
	for _, s := range r.Timeline.Series(metric.AcknowledgedForms) {
		form := s.Label("form")
		if n, _ := r.Timeline.Sum(metric.AcknowledgedForms, label("form", form), record.All); n > 0 && finite(n) {
			all[form] = int64(n)
		}
	}
	return all
}

// lostWrites counts the acknowledged transactions that are certainly not stored.
func lostWrites(r record.Run) int64 {
	if r.Ledger == nil {
		return 0
	}
	lost := r.Ledger.Missing
	for _, d := range doubts(r) {
		lost -= d.unclear
	}
	return lost
}

// clockAhead is by how many ms the database's clock is ahead of the coordinator's, if that is
// more than a persist lag with this bound allows, or else 0.
func clockAhead(r record.Run, bound float64) float64 {
	l := r.Facts.Ledger
	if l.ClockMs == nil || math.Abs(*l.ClockMs)-l.ClockWithinMs <= rulebook.ClockShare*bound {
		return 0
	}
	return *l.ClockMs
}

// whyNoLedger says why SLOs on the ledger cannot be decided although it was read, and what to do;
// empty: they can.
func whyNoLedger(p *part) (why, advice string) {
	var all []string
	for _, d := range doubts(p.Run) {
		all, advice = append(all, d.why), cmp.Or(advice, d.advice)
	}
	lag, judged := p.Plan.Profile.Limit(metric.PersistLag)
	if !judged || p.Ledger == nil || p.Ledger.Matched() == 0 {
		return joinFirst(all, 3), advice
	}
	if text := p.Misdated(); text != "" {
		all = append(all, text+", as local times would be if they were taken for UTC")
		advice = cmp.Or(advice, "Store UTC, or convert the time in the profile's query, as by CONVERT_TZ(persisted_at, 'America/New_York', '+00:00') or persisted_at AT TIME ZONE 'America/New_York'.")
	}
	if ahead := clockAhead(p.Run, float64(lag.Milliseconds())); ahead != 0 {
		all = append(all, fmt.Sprintf("the database's clock is %s ms ahead of the coordinator's", number(ahead)))
		advice = cmp.Or(advice, "Synchronise the clocks: timedatectl set-ntp true, on both hosts.")
	}
	return joinFirst(all, 3), advice
}

// ledgerLimitations are what a reader must know of the ledger of a flow.
func ledgerLimitations(p *part) (all []string) {
	c := p.Ledger
	if c == nil {
		return nil
	}
	add := func(format string, args ...any) { all = append(all, "ledger: "+fmt.Sprintf(format, args...)) }
	if shift := time.Duration(c.Dates.Shift) * time.Millisecond; shift != 0 {
		add("the rows have local times of the server's time zone, %s from UTC, which are corrected", shift)
	}
	if text := p.Misdated(); text != "" {
		add("%s: the persist lag is not known", text)
	}
	return all
}
