package logfile

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/testing/modeltest"
)

// What a reader must know of a log is noted, and nothing else.
func TestNotes(t *testing.T) {
	start := time.Date(2024, 5, 18, 18, 0, 0, 0, time.UTC)
	steady := func(change func(*modeltest.Log)) modeltest.Log {
		l := modeltest.Log{Start: start, Stages: []modeltest.Stage{{Seconds: 1200, Rate: 10}}, Flows: []modeltest.Flow{{Method: "GET", Path: "/a", Weight: 1, Latency: 5}}, Seed: 3}
		change(&l)
		return l
	}
	// late is how many seconds after start a line is.
	line := func(late int, request string, status int) string {
		return fmt.Sprintf(`::1 - - [%s] "%s HTTP/1.1" %d 1 "-" "-" 0.010`+"\n", start.Add(time.Duration(late)*time.Second).Format("02/Jan/2006:15:04:05 -0700"), request, status)
	}
	for _, c := range []struct {
		name string
		log  modeltest.Log
		more string // lines after it
		want []string
	}{
		{"nothing", steady(func(*modeltest.Log) {}), "", nil},
		{"no request times", steady(func(l *modeltest.Log) { l.Flows[0].Latency = 0 }), "", []string{"the log has no request times: the SLOs are examples"}},
		{"bursts", steady(func(l *modeltest.Log) { l.Burst, l.Stages[0].Rate = 0.5, 40 }), "", []string{"times as dispersed within a minute as the profile's Poisson arrivals: the busiest second has"}},
		{"errors", steady(func(l *modeltest.Log) { l.Flows[0].Errors = 0.05 }), "", []string{"% of the requests of get-a failed"}},
		{"mostly errors", steady(func(l *modeltest.Log) { l.Flows[0].Errors = 0.6 }), "", []string{"% of the requests of get-a failed", "% of all requests failed: the log shows no share that may fail"}},
		{"writes", steady(func(l *modeltest.Log) { l.Flows[0].Method = "POST" }), "", []string{"edit the scripts that write, post-a:"}},
		{"a gap", steady(func(l *modeltest.Log) {
			l.Stages = append(l.Stages, modeltest.Stage{Seconds: 90}, modeltest.Stage{Seconds: 60, Rate: 10})
		}), "", []string{"the log has no request for 9"}},
		{"scanners", steady(func(*modeltest.Log) {}), strings.Repeat(line(600, "GET /wp-admin/setup.php", 404), 300), []string{"of the requests are in no flow: 300 for paths that are never found"}},
		{"other methods", steady(func(*modeltest.Log) {}), strings.Repeat(line(600, "PROPFIND /a", 207), 300), []string{"in no flow: 0 for paths that are never found or never valid, 300 by other methods"}},
		{"out of order", steady(func(*modeltest.Log) {}), strings.Repeat(line(300, "GET /a", 200), 300), []string{"% of the requests are more than a minute out of order"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			log, _ := written(t, c.log, accesslog.Combined)
			// The lines that follow are of other times; of all but the last, that is not what
			// the test is about.
			d := observe(t, bytes.NewReader(append(log, c.more...)), Options{})
			notes := d.Notes
			if c.more != "" && c.name != "out of order" {
				for i, n := range notes {
					if strings.Contains(n, "out of order") {
						notes = append(notes[:i:i], notes[i+1:]...)
						break
					}
				}
			}
			if len(notes) != len(c.want) {
				t.Fatalf("%q, want %q", notes, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(notes[i], want) {
					t.Errorf("%q, want %q", notes[i], want)
				}
			}
			if c.name == "bursts" { // 1 + rate burst^2
				if want := 11.0; math.Abs(*d.Rates.Dispersion-want) > 0.15*want {
					t.Errorf("dispersion %g, want %g", *d.Rates.Dispersion, want)
				}
			}
			if c.name == "a gap" && (len(d.Window.Gaps) != 1 || d.Window.Seconds+d.Window.Gaps[0].Seconds != 1350) {
				t.Errorf("%+v", d.Window)
			}
		})
	}

	// There are two servers, and the log of one ends half way.
	var names []string
	for i, seconds := range []int{1200, 600} {
		log, _ := written(t, steady(func(l *modeltest.Log) { l.Stages[0].Seconds, l.Seed = seconds, uint64(i) }), accesslog.Combined)
		names = append(names, filepath.Join(t.TempDir(), "access.log"))
		if err := os.WriteFile(names[i], log, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if notes := propose(t, names, Options{}).Notes; len(notes) != 1 || !strings.Contains(notes[0], "the logs do not cover the same time") {
		t.Errorf("%q", notes)
	}
}
