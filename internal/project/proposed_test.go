//go:build live

package project

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay.dev/assay/internal/load/k6"
	"assay.dev/assay/internal/project/logfile"
	"assay.dev/assay/internal/project/model"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/route"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/budget"
	"assay.dev/assay/internal/testing/modeltest"
)

// TestMain is k6 if the test binary is started as `assay k6`.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "k6" {
		k6.Main(os.Args[2:])
	}
	os.Exit(m.Run())
}

// scale is that of its rates, with which all but the rarest flows can be judged.
const scale = 6

// proposed is a profile from a log, with endpoints of all kinds, and its folder.
func proposed(t *testing.T) (model.Document, string) {
	t.Helper()
	day := modeltest.MatchDay(0.02)
	day.Flows = append(
		day.Flows,
		modeltest.Flow{Method: "GET", Path: "/api/v1/tickets/{uuid}/seat", Weight: 30, Keys: 500, Exponent: 1.1},
		modeltest.Flow{Method: "GET", Path: "/api/v1/tickets/stadium", Weight: 10},
		modeltest.Flow{Method: "DELETE", Path: "/api/v1/carts/{uuid}", Weight: 3, Keys: 200},
		modeltest.Flow{Method: "HEAD", Path: "/about", Weight: 0.2},
		modeltest.Flow{Method: "PUT", Path: "/api/v1/profile", Weight: 0.1},
		modeltest.Flow{Method: "GET", Path: "/search?q=", Weight: 0.4, Keys: 100, Exponent: 1},
	)
	var log bytes.Buffer
	if _, err := day.Write(&log, accesslog.Combined); err != nil {
		t.Fatal(err)
	}
	o, err := logfile.Observe(t.Context(), []string{logfile.Stdin}, logfile.Options{Stdin: &log}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	d, err := model.Propose(o, model.Options{Profile: "match-day", Scale: scale, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	files, err := ProposedFiles(d)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "proposed")
	if _, err := WriteFiles(dir, files); err != nil {
		t.Fatal(err)
	}
	return d, dir
}

// runK6 runs the embedded k6, and returns what it printed.
func runK6(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], append([]string{"k6"}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("k6 %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// received is a server that records requests.
type received struct {
	*httptest.Server
	mu     sync.Mutex
	lines  []string // method and target
	bodies []string
}

func newReceived(t *testing.T) *received {
	t.Helper()
	r := &received{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lines, r.bodies = append(r.lines, req.Method+" "+req.RequestURI), append(r.bodies, string(body))
	}))
	t.Cleanup(r.Close)
	return r
}

// take returns the requests so far, and forgets them.
func (r *received) take() (lines, bodies []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines, bodies = r.lines, r.bodies
	r.lines, r.bodies = nil, nil
	return lines, bodies
}

// pattern matches the requests of an endpoint.
func pattern(e model.Endpoint) *regexp.Regexp {
	text := ""
	for _, s := range e.Segments {
		text += "/" + map[route.Kind]string{route.Literal: regexp.QuoteMeta(s.Literal), route.Number: "[0-9]+", route.UUID: "[0-9a-f]{8}-[0-9a-f]{4}-8000-8000-[0-9a-f]{12}"}[s.Kind]
	}
	return regexp.MustCompile("^" + e.Method + " " + text + "$")
}

// The scripts are k6's, send what they show and nothing else, by the shares and with the keys
// of the log; those that write send nothing before they are edited.
func TestProposedScripts(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	d, dir := proposed(t)
	server := newReceived(t)
	const iterations = 500
	run := func(f model.Flow) string {
		return runK6(t, dir, "run", "--quiet", "--vus", "2", "--iterations", fmt.Sprint(iterations), "-e", "ASSAY_TARGET="+server.URL, f.Script)
	}
	wrote := 0
	for _, f := range d.Flows {
		if out := runK6(t, dir, "inspect", "-e", "ASSAY_TARGET="+server.URL, f.Script); !json.Valid([]byte(out)) {
			t.Errorf("%s: %s", f.Script, out)
		}
		if f.Writes {
			wrote++
			if out := run(f); strings.Count(out, f.Script+" sends writes: edit it first") != iterations {
				t.Errorf("%s printed %s", f.Script, out)
			}
			if lines, _ := server.take(); len(lines) > 0 {
				t.Fatalf("%s sent %s", f.Script, lines)
			}
			path := filepath.Join(dir, f.Script)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, bytes.Replace(text, []byte("edited = false"), []byte("edited = true"), 1), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if out := run(f); strings.Contains(out, "level=error") {
			t.Errorf("%s printed %s", f.Script, out)
		}
		lines, bodies := server.take()
		if len(lines) != iterations {
			t.Errorf("%s sent %d requests, want %d", f.Script, len(lines), iterations)
		}
		left := len(lines)
		for _, e := range f.Endpoints {
			n, keys := 0, map[string]int{}
			for i, line := range lines {
				if !pattern(e).MatchString(line) {
					continue
				}
				n++
				keys[line]++
				if hasBody := strings.Contains(bodies[i], e.Name); hasBody != f.Writes {
					t.Errorf("%s: body %q", line, bodies[i])
				}
			}
			left -= n
			// Five standard deviations.
			if want := e.Share * iterations; math.Abs(float64(n)-want) > 5*math.Sqrt(want*(1-e.Share)) {
				t.Errorf("%d of %d requests of %s are %s, want %g", n, iterations, f.Name, e.Template, want)
			}
			if e.Template == "/api/v1/tickets/{id}/seat" {
				most := 0
				for _, n := range keys {
					most = max(most, n)
				}
				want := float64(n) / harmonicSum(e.Keys.Total, e.Keys.Exponent)
				if math.Abs(float64(most)-want) > 5*math.Sqrt(want) {
					t.Errorf("the first key has %d of %d requests, want %g", most, n, want)
				}
			}
		}
		if left != 0 {
			t.Errorf("%s sent %d requests of no endpoint: %s", f.Script, left, lines)
		}
	}
	if wrote != 3 { // orders, carts, and what is left
		t.Errorf("%d flows write", wrote)
	}
}

func harmonicSum(n int64, exponent float64) (sum float64) {
	for i := int64(1); i <= n; i++ {
		sum += math.Pow(float64(i), -exponent)
	}
	return sum
}

// zipf draws keys by its distribution, to the tails and with few and many keys.
func TestZipf(t *testing.T) {
	t.Parallel()
	budget.CPUs(t, 0.5)
	_, dir := proposed(t)
	server := newReceived(t)
	const draws = 20_000
	type of struct {
		Exponent float64
		Count    int64
		Below    int64
	}
	cases := []of{{0, 1, 1}, {0, 100, 10}, {0.5, 1000, 30}, {1, 1000, 1}, {1, 1000, 100}, {1.2, 1_000_000, 10}, {2.5, 50, 1}, {3, 1, 1}, {0.9, 20_000, 200}, {1.1, 2, 1}}
	given, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`import http from 'k6/http';
import { hex, uuid, zipf } from './lib/keys.js';
import { seededRandom } from './lib/random.js';
const cases = %s;
export default function () {
  const random = seededRandom('zipf');
  const below = cases.map((c) => {
    const draw = zipf(c.Exponent, c.Count);
    let n = 0;
    for (let i = 0; i < %d; i++) {
      const key = draw(random);
      if (!Number.isInteger(key) || key < 1 || key > c.Count) { throw new Error('key ' + key); }
      if (key <= c.Below) { n++; }
    }
    return n;
  });
  http.post(__ENV.ASSAY_TARGET + '/' + hex(255) + '/' + uuid(4294967296 * 65535 + 1), JSON.stringify(below));
}`, given, draws)
	if err := os.WriteFile(filepath.Join(dir, "scenarios/zipf.js"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	out := runK6(t, dir, "run", "--quiet", "-e", "ASSAY_TARGET="+server.URL, "scenarios/zipf.js")
	lines, bodies := server.take()
	if len(lines) != 1 || lines[0] != "POST /000000000000000000000000000000ff/00000000-0000-8000-8000-ffff00000001" {
		t.Fatalf("%s: %s", lines, out)
	}
	var below []int
	if err := json.Unmarshal([]byte(bodies[0]), &below); err != nil || len(below) != len(cases) {
		t.Fatalf("%s: %v", bodies[0], err)
	}
	for i, c := range cases {
		share := harmonicSum(c.Below, c.Exponent) / harmonicSum(c.Count, c.Exponent)
		if want := share * draws; math.Abs(float64(below[i])-want) > 5*math.Sqrt(want*(1-share))+1e-9 {
			t.Errorf("%+v: %d of %d draws, want %g", c, below[i], draws, want)
		}
	}
}

// The proposed thresholds are a profile; its flows together have the stages of the
// document.
func TestProposedThresholds(t *testing.T) {
	d, dir := proposed(t)
	data, err := os.ReadFile(filepath.Join(dir, "thresholds.json"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := spec.Decode("thresholds.json", data)
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	p, is := file.Profiles["match-day"]
	if !is || len(file.Profiles) != 1 || len(p.Flows) != len(d.Flows) {
		t.Fatalf("%s", data)
	}
	for _, path := range []string{"thresholds.schema.json", "model.json"} {
		if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
			t.Error(err)
		}
	}
	rates := make([]float64, len(d.Stages))
	for _, f := range p.Flows {
		n := slices.IndexFunc(d.Flows, func(of model.Flow) bool { return of.Name == f.Name })
		if _, err := os.Stat(filepath.Join(dir, f.Scenario)); err != nil {
			t.Error(err)
		}
		if len(f.Load.Stages) != len(d.Stages) {
			t.Fatalf("%s has %d stages, want %d", f.Name, len(f.Load.Stages), len(d.Stages))
		}
		for i, s := range f.Load.Stages {
			rates[i] += s.Rate
			if want := d.Stages[i]; s.Judge != d.Flows[n].Judged[i] || s.For != time.Duration(want.For)*time.Second || s.Ramp != time.Duration(want.Ramp)*time.Second {
				t.Errorf("%s: stage %+v, want %+v", f.Name, s, want)
			}
		}
	}
	judged := 0
	for i, s := range d.Stages {
		if math.Abs(rates[i]-s.Rate) > 0.001*s.Rate {
			t.Errorf("stage %d has %g/s, want %g", i, rates[i], s.Rate)
		}
		if s.Judge {
			judged++
		}
		if s.Peak && math.Abs(s.Rate-scale*d.Rates.PeakMinute.Rate) > 0.005*s.Rate {
			t.Errorf("the peak has %g/s, want %d times %g", s.Rate, scale, d.Rates.PeakMinute.Rate)
		}
	}
	if judged == 0 || d.Stages[0].Judge {
		t.Errorf("%+v", d.Stages)
	}
}
