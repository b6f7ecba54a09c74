package record

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"assay.dev/assay/internal/observe/ledger"
)

// Rows that are dated in local time are moved when the record is opened, where the zone is the
// server's: the lags are then those in UTC. Where it is not, nothing is moved, and the record
// says that the rows are misdated.
func TestOpenCorrectsLocalTimes(t *testing.T) {
	const hour = int64(3_600_000)
	for name, c := range map[string]struct {
		off      int64
		zones    []int64
		shift    int64
		misdated bool
	}{
		"UTC":     {0, []int64{-18000}, 0, false},
		"west":    {-5 * hour, []int64{3600, -18000}, -5 * hour, false},
		"east":    {5*hour + hour/2, []int64{19800}, 5*hour + hour/2, false},
		"unknown": {-5 * hour, nil, 0, true},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		w, err := Create(dir, aPlan())
		if err != nil {
			t.Fatal(err)
		}
		facts := someFacts(StateOK)
		facts.Workers = []Worker{{Source: "worker/0", Exit: "0"}, {Source: "worker/1", Exit: "0"}}
		facts.Ledger.ReadAt, facts.Ledger.ZoneSeconds = time.Unix(t0+12, 0).UTC(), c.zones
		if err := errors.Join(
			w.Environment(anEnvironment()), w.Frame(latencies("worker/0", 1, 1)),
			w.Acknowledged("worker/0", 1, []ledger.Entry{entry("a", 1000), entry("b", 2000)}),
			w.Persisted(each(entry("a", 1007+c.off), entry("b", 1990+c.off))),
			w.Seal(facts),
		); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		lag, _ := r.Ledger.Lag(1)
		if d := r.Ledger.Dates; d.Shift != c.shift || (r.Misdated() != "") != c.misdated || !c.misdated && lag != 7 {
			t.Errorf("%s: %+v, misdated %q, longest lag %g ms", name, d, r.Misdated(), lag)
		}
	}
}
