package experiment

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/series/search"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/comparetest"
)

// hostile is text that would control a terminal, or close an HTML tag.
const hostile = "\x1b[31m</td><script>|*"

// synthetic is an experiment of six synthetic pairs, whose binlog waits are gone in the
// variant; failsAt is the run that fails, from 1; 0: none.
func synthetic(t *testing.T, failsAt int) Document {
	t.Helper()
	a, b := comparetest.Groups(strings.ReplaceAll(plannedOrder(2, 6, 1), " ", ""), 0.5)
	groups := map[string]compare.Group{"as-is": a, "binlog-off": b}
	for name, g := range groups {
		for i := range g.Runs {
			ms, cpu := 12.5, 2.0
			w := []certificate.Wait{{Event: "cpu", Class: "CPU", MsPerTransaction: &cpu, Inferred: true}}
			if name == "as-is" {
				w = append(w, certificate.Wait{Event: "synch/cond/sql/MYSQL_BIN_LOG::COND_done" + hostile, Class: "binlog", MsPerTransaction: &ms})
			}
			g.Runs[i].Certificate.Waits = w
		}
	}
	limits := map[string]float64{"as-is": 100, "binlog-off": 150}
	e := spec.Experiment{Variants: []spec.Variant{{Name: "as-is"}, {Name: "binlog-off", Description: "for a test " + hostile, Database: []string{"--skip-log-bin"}}}, Capacity: &spec.Capacity{}}
	parameters := Parameters{
		ID: "20261120-experiment", Name: "binlog-off", File: "binlog-off.json", SHA256: strings.Repeat("0", 64), Description: "with a binlog, and without", Question: "does it matter?",
		Source: "a report", Profile: "synthetic", Unit: "tps", Rate: 20, Target: "http://127.0.0.1:18080", Workers: 1, Pairs: 6, Tolerance: 0.03, Seed: 1,
		Primary: []string{"transaction p99", "database binlog"}, Started: time.Unix(0, 0).UTC(),
	}
	made := 0
	d, err := Run(t.Context(), e, parameters, Loop{
		Apply: func(context.Context, spec.Variant) error { return nil }, Revert: func() error { return nil }, Progress: func(Progress) {},
		Make: func(_ context.Context, turn Turn, v spec.Variant) (RunResult, error) {
			if made++; made == failsAt {
				return RunResult{}, errors.New("no more runs")
			}
			r := groups[v.Name].Runs[turn.Round]
			return RunResult{Run: r.Certificate.Run, Folder: r.Folder, Verdict: r.Certificate.Verdict, Claim: r.Certificate.Claim, compared: r}, nil
		},
		Search: func(ctx context.Context, v spec.Variant, _ Trial) (search.Document, string, error) {
			found, err := search.Run(ctx, search.Parameters{Unit: "tps", Goal: search.Goal{Trials: 1, Width: 0.05}, Range: search.Range{From: 64, Floor: 1, Max: 1000}}, search.Loop{
				Keep: func(search.Document) error { return nil },
				Trial: func(_ context.Context, rate float64, _ int) (search.Probe, error) {
					if rate > limits[v.Name] {
						return search.Probe{Rate: rate, Result: search.Broken}, nil
					}
					return search.Probe{Rate: rate, Result: search.Clear}, nil
				},
			})
			return found, "capacity/" + v.Name, err
		},
	})
	if (err != nil) != (failsAt > 0) {
		t.Fatal(err)
	}
	for i := range d.Runs { // instead of the measured time
		d.Runs[i].Seconds = 1
	}
	return d
}

func TestGolden(t *testing.T) {
	for name, failsAt := range map[string]int{"confirmed": 0, "failed": 4} {
		d := synthetic(t, failsAt)
		data, err := document.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		html, err := page.HTML(FullPage(d))
		if err != nil {
			t.Fatal(err)
		}
		for ext, data := range map[string][]byte{
			".json": data, ".html": withoutStyle(html), ".md": page.Markdown(SummaryPage(d)), ".txt": page.Terminal(SummaryPage(d), page.Columns, false),
		} {
			path := filepath.Join("testdata", name+ext)
			if *update {
				if err := os.WriteFile(path, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(data)); diff != "" {
				t.Errorf("%s differs, see -update:\n%s", path, diff)
			}
			if ext != ".json" && strings.ContainsAny(string(data), "\x1b") || strings.Contains(string(data), "<script>") && ext == ".html" {
				t.Errorf("%s holds an escape sequence or a script", path)
			}
		}
	}
}

// withoutStyle removes the style sheet, which another package owns, and its digest.
func withoutStyle(page []byte) []byte {
	page = regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAll(page, []byte("<style>...</style>"))
	return regexp.MustCompile(`sha256-([^&]|&#43;)*`).ReplaceAll(page, []byte("sha256-..."))
}

// A failed experiment shows nothing that could be mistaken for a result.
func TestPageOfFailed(t *testing.T) {
	d := synthetic(t, 4)
	html, err := page.HTML(FullPage(d))
	if err != nil {
		t.Fatal(err)
	}
	for what, shown := range map[string]string{
		"text": string(page.Terminal(SummaryPage(d), page.Columns, false)), "Markdown": string(page.Markdown(SummaryPage(d))), "page": string(html),
	} {
		if !strings.Contains(shown, "failed after 3 runs of 12: no result") || strings.Contains(shown, "Primary metrics") || strings.Contains(shown, "Highest rate") {
			t.Errorf("%s:\n%s", what, shown)
		}
	}
}
