package logfile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/project/model"
	"assay.dev/assay/internal/project/model/accesslog"
	"assay.dev/assay/internal/project/model/traffic"
	"assay.dev/assay/internal/testing/modeltest"
)

// observe reads a log from standard input.
func observe(t *testing.T, log io.Reader, o Options) model.Document {
	t.Helper()
	o.Stdin = log
	return propose(t, []string{Stdin}, o)
}

func propose(t *testing.T, names []string, o Options) model.Document {
	t.Helper()
	found, err := Observe(t.Context(), names, o, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	d, err := model.Propose(found, model.Options{Profile: "match-day", Scale: 1, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// written is a log and what is in it.
func written(t *testing.T, l modeltest.Log, format accesslog.Format) ([]byte, modeltest.Truth) {
	t.Helper()
	var b bytes.Buffer
	truth, err := l.Write(&b, format)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), truth
}

func within(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if !(math.Abs(got-want) <= share*want) {
		t.Errorf("%s is %g, want %g within %g %%", what, got, want, 100*share)
	}
}

// The same requests give the same model in any format, compressed, in any order, divided over
// several logs, and on any number of processors.
func TestSameModel(t *testing.T) {
	day := modeltest.MatchDay(0.02)
	plain, _ := written(t, day, accesslog.Combined)
	want := observe(t, bytes.NewReader(plain), Options{})
	same := func(what string, got model.Document) {
		t.Helper()
		got.Inputs, got.Notes = want.Inputs, want.Notes
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", what, diff)
		}
	}
	for _, format := range []accesslog.Format{accesslog.JSON, accesslog.ALB} {
		log, _ := written(t, day, format)
		got := observe(t, bytes.NewReader(log), Options{})
		if got.Inputs[0].Format != string(format) {
			t.Errorf("%s was read as %s", format, got.Inputs[0].Format)
		}
		same(string(format), got)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(plain), "\n"), "\n")
	lines[len(lines)-1] += "\r\n"
	random := rand.New(rand.NewPCG(1, 1))
	var names []string
	for i := range 3 {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		for j := i; j < len(lines); j += 3 {
			if _, err := io.WriteString(z, lines[j]); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "access.log")
		if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	same("three logs", propose(t, names, Options{}))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	same("one processor", observe(t, bytes.NewReader(plain), Options{}))
	random.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	shuffled := observe(t, strings.NewReader(strings.Join(lines, "")), Options{})
	// A sketch of keys depends on the order, within its error.
	for f := range shuffled.Flows {
		for e := range shuffled.Flows[f].Endpoints {
			if got, want := shuffled.Flows[f].Endpoints[e].Keys, want.Flows[f].Endpoints[e].Keys; got != nil && want != nil {
				within(t, "keys", float64(got.Distinct), float64(want.Distinct), 0)
				within(t, "the share of the top keys", got.TopShare, want.TopShare, 0.1)
			}
			shuffled.Flows[f].Endpoints[e].Keys = want.Flows[f].Endpoints[e].Keys
		}
	}
	same("in any order", shuffled)
}

// Nothing that names a person is in a result, though every line has it.
func TestPersonalDataStayOut(t *testing.T) {
	day := modeltest.MatchDay(0.01)
	day.Flows = append(
		day.Flows,
		modeltest.Flow{Method: "GET", Path: "/users/wilma.flintstone%40bedrock.example/orders", Weight: 10, Latency: 1},
		modeltest.Flow{Method: "GET", Path: "/users/@wilma.flintstone/{id}", Weight: 10, Keys: 100, Latency: 1},
		modeltest.Flow{Method: "PUT", Path: "/sessions/sekrit2024abc?sekrit%21=", Weight: 10, Latency: 1},
	)
	for _, name := range modeltest.People {
		day.Flows = append(
			day.Flows,
			modeltest.Flow{Method: "GET", Path: "/fans/" + name, Weight: 1, Latency: 1},
			modeltest.Flow{Method: "POST", Path: "/fans/" + name + "/votes", Weight: 1, Latency: 1},
		)
	}
	for _, format := range accesslog.Formats {
		log, _ := written(t, day, format)
		for _, secret := range modeltest.Personal {
			if !bytes.Contains(log, []byte(secret)) {
				t.Fatalf("%s: no line has %s", format, secret)
			}
		}
		d := observe(t, bytes.NewReader(log), Options{})
		results := [][]byte{page.Terminal(model.Page(d), page.Columns, false)}
		for _, make := range []func() ([]byte, error){
			func() ([]byte, error) { return document.Marshal(d) },
			func() ([]byte, error) { return model.Thresholds(d, "schema.json") },
			func() ([]byte, error) {
				scripts, err := model.Scripts(d)
				if err != nil {
					return nil, err
				}
				return json.Marshal(scripts)
			},
		} {
			result, err := make()
			if err != nil {
				t.Fatal(err)
			}
			results = append(results, result)
		}
		scripts, err := model.Scripts(d)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scripts {
			results = append(results, s)
		}
		for _, result := range results {
			for _, secret := range slices.Concat(modeltest.Personal, modeltest.People, []string{"1000007"}) { // a key
				if bytes.Contains(result, []byte(secret)) {
					t.Errorf("%s: a result has %s:\n%s", format, secret, result)
				}
			}
		}
	}
}

// Where a few plain names are left, all that is passed on says so, and names the place only;
// the route that it proposes replaces them.
func TestNamesThatAreLeft(t *testing.T) {
	day := modeltest.MatchDay(0.01)
	for i, name := range modeltest.People[:6] {
		day.Flows = append(day.Flows, modeltest.Flow{Method: "GET", Path: "/fans/" + name + "/votes", Weight: float64(i + 1), Latency: 1})
	}
	log, _ := written(t, day, accesslog.Combined)
	d := observe(t, bytes.NewReader(log), Options{})
	if diff := cmp.Diff([]string{"/fans"}, d.MayBeNames); diff != "" {
		t.Error(diff)
	}
	const says = "segments below /fans may be names"
	note := slices.IndexFunc(d.Notes, func(n string) bool {
		return strings.HasPrefix(n, says+": ") && strings.Contains(n, "--route '/fans/{name}' replaces them")
	})
	if note < 0 {
		t.Errorf("%q", d.Notes)
	}
	thresholds, err := model.Thresholds(d, "schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(thresholds, []byte("Read before you pass it on: "+says)) {
		t.Errorf("%s", thresholds)
	}
	d = observe(t, bytes.NewReader(log), Options{Traffic: traffic.Options{Routes: []string{"/fans/{name}"}}})
	result, err := document.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range modeltest.People {
		if bytes.Contains(result, []byte(name)) {
			t.Errorf("a result has %s", name)
		}
	}
	if len(d.MayBeNames) != 0 {
		t.Errorf("%q", d.MayBeNames)
	}
}

// If a log spans more than a day, the day around the busiest minute is used.
func TestLongLog(t *testing.T) {
	day := modeltest.MatchDay(0.02)
	quiet := modeltest.Log{Start: day.Start.Add(-50 * time.Hour), Stages: []modeltest.Stage{{Seconds: 40 * 3600, Rate: 0.1}}, Flows: day.Flows, Seed: 2}
	before, _ := written(t, quiet, accesslog.Combined)
	match, _ := written(t, day, accesslog.Combined)
	whole := append(before, match...)
	name := filepath.Join(t.TempDir(), "access.log")
	if err := os.WriteFile(name, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	d := propose(t, []string{name}, Options{})
	want := observe(t, bytes.NewReader(match), Options{})
	if d.LeftOut.Outside == 0 || d.Requests+d.LeftOut.Outside != int64(bytes.Count(whole, []byte("\n"))) {
		t.Errorf("%d requests, %d outside", d.Requests, d.LeftOut.Outside)
	}
	if diff := cmp.Diff(want.Rates.PeakMinute, d.Rates.PeakMinute); diff != "" {
		t.Error(diff)
	}
	if d.Window.Start < "2024-05-18T02:00" || d.Window.Start > "2024-05-18T03:00" { // 12 h before the peak
		t.Errorf("the window starts at %s", d.Window.Start)
	}
	// Standard input cannot be read twice; the window that the error names gives the same.
	_, err := Observe(t.Context(), []string{Stdin}, Options{Stdin: bytes.NewReader(whole)}, time.UTC)
	if err == nil || !strings.Contains(err.Error(), "cannot be read twice") {
		t.Fatalf("%v", err)
	}
	given := observe(t, bytes.NewReader(whole), Options{Traffic: traffic.Options{Window: &traffic.Window{From: day.Start.UnixMicro(), To: day.Start.Add(2 * time.Hour).UnixMicro()}}})
	if diff := cmp.Diff(want.Flows, given.Flows); diff != "" {
		t.Error(diff)
	}
	// A few lines with wrong times do not make it a long log.
	stray := []byte(`::1 - - [01/Jan/2001:00:00:00 +0000] "GET /healthz HTTP/1.1" 200 1` + "\n")
	d = observe(t, bytes.NewReader(append(stray, match...)), Options{})
	if d.LeftOut.Outside != 1 || d.Window.Start != want.Window.Start {
		t.Errorf("%d outside, window %+v", d.LeftOut.Outside, d.Window)
	}
}
