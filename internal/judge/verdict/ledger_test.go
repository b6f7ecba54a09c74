package verdict_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/ledger"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/testing/synthetic"
)

// acknowledge adds forms of acknowledged identities.
func acknowledge(c *synthetic.Case, forms ledger.Forms) {
	for form, n := range forms {
		of := metric.Of(metric.AcknowledgedForms, "form", form, "scenario", "synthetic")
		c.Frames[0].Points = append(c.Frames[0].Points, metric.CounterPoint(of, float64(n)))
	}
}

// missing makes n transactions of a ledger missing, with so many rows of other identities.
func missing(c *synthetic.Case, n, others int64) {
	l := c.Run.Ledger
	l.Missing, l.Unacknowledged = n, others
	l.Persisted = l.Acknowledged - n + others
	l.Lags = map[int64]int64{10: l.Acknowledged - n}
}

const aUUID, aNumber = "16 bytes, as of a UUID", "3-digit number"

// Where identities differ in form nothing can match, and the run is INVALID with both forms. What
// is missing beyond the rows that there are is lost whatever their form, and so is all where both
// sides have one form.
func TestIdentitiesOfTwoForms(t *testing.T) {
	for name, c := range map[string]struct {
		missing, others int64 // 0: all
		stored          string
		acknowledged    ledger.Forms
		want            verdict.Outcome
		claim           string
	}{
		"two forms":             {0, 0, aNumber, ledger.Forms{aUUID: 1}, verdict.Invalid, "identities differ in form, and none is on both sides: the script acknowledged 16 bytes, as of a UUID, the query returns 3-digit number"},
		"two forms, fewer rows": {0, -3, aNumber, ledger.Forms{aUUID: 1}, verdict.LostWrite, "lost 3 of"},
		"one form":              {0, 0, aUUID, ledger.Forms{aUUID: 1}, verdict.LostWrite, "lost "},
		"one shared":            {0, 0, aUUID, ledger.Forms{aUUID: 1, aNumber: 5}, verdict.LostWrite, "lost "},
		"some match":            {53, 53, aNumber, ledger.Forms{aUUID: 1}, verdict.LostWrite, "lost 53 of"},
		"forms unknown":         {0, 0, aNumber, nil, verdict.LostWrite, "lost "},
		"rounded": {
			53, 53, "19-digit number over 2^53",
			ledger.Forms{"19-digit number" + ledger.Rounded: 53, "3-digit number": 500},
			verdict.Invalid, "all 53 acknowledged identities over 2^53 look as if JavaScript had rounded them",
		},
		"rounded, and one lost": {
			53, 52, "19-digit number over 2^53", ledger.Forms{"19-digit number" + ledger.Rounded: 53}, verdict.LostWrite, "lost 1 of",
		},
		"some are not rounded": {
			53, 53, "19-digit number over 2^53", ledger.Forms{"19-digit number" + ledger.Rounded: 52, "19-digit number" + ledger.Over2to53: 1}, verdict.LostWrite, "lost 53 of",
		},
	} {
		s := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
		all := s.Run.Ledger.Acknowledged
		if c.missing == 0 {
			c.missing, c.others = all, all+c.others
		}
		missing(s, c.missing, c.others)
		s.Run.Facts.Ledger.Forms = []ledger.Forms{{c.stored: s.Run.Ledger.Persisted}}
		acknowledge(s, c.acknowledged)
		v := verdict.Judge(s.Record())
		if v.Outcome != c.want || !strings.Contains(v.Claim, c.claim) {
			t.Errorf("%s: %s: %s", name, v.Outcome, v.Claim)
		}
		// The same without an SLO on it.
		p := &s.Run.Plan.Profile.Flows[0]
		p.SLOs = p.SLOs[:2]
		if v := verdict.Judge(s.Record()); v.Outcome != c.want {
			t.Errorf("%s, without SLOs on the ledger: %s: %s", name, v.Outcome, v.Claim)
		}
	}
}

// An identity of several transactions is a limitation, and where it has fewer rows than
// acknowledgements, INVALID: whether one was lost is not known. What has no row at all is lost.
func TestRepeatedIdentities(t *testing.T) {
	for name, c := range map[string]struct {
		repeated, unclear, missing int64
		want                       verdict.Outcome
	}{
		"as many rows": {39, 0, 0, verdict.Pass}, "fewer rows": {39, 39, 39, verdict.Invalid}, "one lost": {39, 39, 40, verdict.LostWrite},
	} {
		s := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
		missing(s, c.missing, 0)
		s.Run.Ledger.Repeated, s.Run.Ledger.Unclear = c.repeated, c.unclear
		v := verdict.Judge(s.Record())
		listed := slices.ContainsFunc(v.LeftOut, func(o certificate.Omission) bool {
			return o.Reason == "repeated-acknowledgements" && *o.Transactions == c.repeated && o.Weighs
		})
		if v.Outcome != c.want || !listed {
			t.Errorf("%s: %s: %s\n%v", name, v.Outcome, v.Claim, v.LeftOut)
		}
	}
}

// Rows that are dated when they cannot have been stored have no lag, in either direction, and
// never one of 0 ms. What is lost is lost all the same.
func TestMisdatedRows(t *testing.T) {
	second, hour := int64(1000), int64(3_600_000)
	t0 := synthetic.T0.UnixMilli()
	for name, c := range map[string]struct {
		off, lost  int64
		want       verdict.Outcome
		limitation string
	}{
		"UTC":          {0, 0, verdict.Pass, ""},
		"west":         {-5 * hour, 0, verdict.Invalid, "dated up to 5h0m1s before their acknowledgement"},
		"east":         {5*hour + hour/2, 0, verdict.Invalid, "dated up to 5h29m"},
		"clock":        {-10 * second, 0, verdict.Invalid, "before the load began"},
		"west, lost":   {-5 * hour, 1, verdict.LostWrite, "the persist lag is not known"},
		"before, late": {-12 * second, 0, verdict.Invalid, "before the load began"},
	} {
		s := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
		missing(s, c.lost, 0)
		s.Run.Facts.Ledger.ReadAt = s.Run.Facts.Ended.Add(10 * time.Second)
		ended := s.Run.Facts.Ended.UnixMilli()
		s.Run.Ledger.Dates = ledger.Dates{FirstAck: t0 + second, FirstRow: t0 + second + c.off, LastRow: ended + c.off, Lead: second - c.off}
		v := verdict.Judge(s.Record())
		if v.Outcome != c.want || !strings.Contains(strings.Join(v.Limitations, "\n"), c.limitation) {
			t.Errorf("%s: %s: %s\n%s", name, v.Outcome, v.Claim, strings.Join(v.Limitations, "\n"))
		}
		if lag := v.Ledger.PersistLagMs.Max; (lag == nil) != (c.want != verdict.Pass) {
			t.Errorf("%s: persist lag %v", name, lag)
		}
	}
	// What was certain is corrected, and said.
	s := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	s.Run.Ledger.Dates = ledger.Dates{FirstAck: t0 + second, FirstRow: t0 + second, LastRow: t0 + 9*second, Shift: -5 * hour}
	v := verdict.Judge(s.Record())
	if said := "ledger: the rows have local times of the server's time zone, -5h0m0s from UTC, which are corrected"; v.Outcome != verdict.Pass || !slices.Contains(v.Limitations, said) {
		t.Errorf("%s: %s\n%s", v.Outcome, v.Claim, strings.Join(v.Limitations, "\n"))
	}
}

// Rows may be dated by the database's clock or by the service's: a verdict on the persist lag
// must hold by both.
func TestPersistLagByBothClocks(t *testing.T) {
	for name, c := range map[string]struct {
		ahead, within float64
		lag           int64
		want          verdict.Outcome
	}{
		"in time":            {0, 1, 4900, verdict.Pass},
		"ahead, in time":     {3000, 1, 1000, verdict.Pass},
		"ahead, late":        {3000, 1, 6000, verdict.Invalid},
		"ahead, much too":    {3000, 1, 9000, verdict.Fail},
		"behind, in time":    {-3000, 1, 1000, verdict.Pass},
		"behind, late":       {-3000, 1, 4000, verdict.Invalid},
		"not certainly":      {3000, 2600, 6000, verdict.Fail},
		"a tenth is allowed": {-500, 0, 4900, verdict.Pass},
	} {
		s := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
		s.Run.Ledger.Lags = map[int64]int64{c.lag: s.Run.Ledger.Acknowledged}
		s.Run.Facts.Ledger.ClockMs, s.Run.Facts.Ledger.ClockWithinMs = &c.ahead, c.within
		if v := verdict.Judge(s.Record()); v.Outcome != c.want {
			t.Errorf("%s: %s: %s", name, v.Outcome, v.Claim)
		}
	}
}

// Rows that are dated long before their acknowledgement, though within the run, are listed: their
// lag counts as 0.
func TestEarlyRows(t *testing.T) {
	s := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	t0 := synthetic.T0.UnixMilli()
	s.Run.Facts.Ledger.ReadAt = s.Run.Facts.Ended
	s.Run.Ledger.Dates = ledger.Dates{FirstAck: t0 + 1000, FirstRow: t0 + 900, LastRow: t0 + 9000, Lead: 5000, Early: 7}
	v := verdict.Judge(s.Record())
	i := slices.IndexFunc(v.LeftOut, func(o certificate.Omission) bool { return o.Reason == "early-rows" })
	if i < 0 || *v.LeftOut[i].Transactions != 7 || v.Outcome != verdict.Pass || !strings.Contains(v.Claim, "dated up to 5 s before") {
		t.Errorf("%s: %s\n%v", v.Outcome, v.Claim, v.LeftOut)
	}
}

// What a run says of its rows is in the certificate.
func TestLedgerNotes(t *testing.T) {
	s := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	s.Run.Facts.Ledger.Notes = []string{"rows without a time count as not persisted: 1"}
	v := verdict.Judge(s.Record())
	if !slices.Contains(v.Limitations, "ledger: rows without a time count as not persisted: 1") {
		t.Error(v.Limitations)
	}
}
