//go:build long

package run_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/influx"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/testing/influxtest"
)

// When InfluxDB is killed for five seconds in the middle of a run, nothing is lost, and all
// points are written in the end.
func TestLongViewAfterOutage(t *testing.T) {
	t.Parallel()
	cpus(t, 0.2)
	expectPass(t, func(t *testing.T) verdict.Verdict {
		db := influxtest.Start(t)
		o := plainRun(t, 12*time.Second)
		o.View = viewServer(t, db)
		var printed notes
		var outage sync.WaitGroup
		outage.Add(1)
		kill := during(2*time.Second, func() {
			defer outage.Done()
			db.Kill()
			time.Sleep(5 * time.Second)
			db.Restart()
		})
		o.Progress = func(e run.Event) { kill(e); printed.add(e) }
		r := certify(t, o)
		outage.Wait()
		v := judgeAllFrames(t, r)
		if len(viewLimitations(v)) > 0 {
			t.Errorf("limitations: %q", viewLimitations(v))
		}
		checkPoints(t, db, r)
		for _, text := range []string{"the view is paused: InfluxDB at", "cannot be reached: ", "the view is resumed"} {
			if !printed.contain(text) {
				t.Errorf("the notes lack %q: %q", text, printed.all)
			}
		}
		return v
	})
}

// When InfluxDB is killed or suspended for good, the verdict does not change, the
// certificate lists the view as incomplete, and a push completes it.
func TestLongViewWhenServerStaysDown(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*influxtest.Server){
		"killed":    (*influxtest.Server).Kill,
		"suspended": (*influxtest.Server).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cpus(t, 0.15)
			expectPass(t, func(t *testing.T) verdict.Verdict {
				db := influxtest.Start(t)
				o := plainRun(t, 10*time.Second)
				o.View = viewServer(t, db)
				left := make(chan time.Time, 1)
				o.Progress = during(time.Second, func() {
					for begin := time.Now(); len(db.Query(influx.DefaultDatabase, `SELECT "scheduled" FROM "arrival"`)) == 0 && time.Since(begin) < 5*time.Second; {
						time.Sleep(100 * time.Millisecond)
					}
					leave(db)
					left <- time.Now()
				})
				r := certify(t, o)
				down := (<-left).Unix()
				after := slices.IndexFunc(r.Timeline.Seconds(), func(second int64) bool { return second > down })
				checkOverrun(t, r)
				v := judgeAllFrames(t, r)
				about := viewLimitations(v)
				missing, seconds := missingInView(t, about)
				if after < 0 || missing < seconds-after || missing >= seconds || seconds != len(r.Timeline.Seconds()) {
					t.Errorf("%q, and the record has %d seconds, %d of them before the server was down", about[0], len(r.Timeline.Seconds()), after)
				}
				if name == "suspended" {
					db.Kill()
				}
				db.Restart()
				last := 0
				err := influx.Push(t.Context(), viewServer(t, db), influx.NewRunInfo(r.Plan, r.Environment, r.Facts.T0), r.Timeline, nil,
					func(done, of int) { last = of - done })
				if err != nil || last != 0 {
					t.Errorf("push: %v, %d seconds are left", err, last)
				}
				checkPoints(t, db, r)
				t.Log(about[0])
				return v
			})
		})
	}
}
