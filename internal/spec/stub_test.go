package spec_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/schematest"
)

const fullStub = "testdata/stub/full.json"

func TestDecodeStubReadsEveryKey(t *testing.T) {
	got, err := spec.DecodeStub(fullStub, read(t, fullStub))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Digest) != 71 {
		t.Errorf("digest %q", got.Digest)
	}
	ms := time.Millisecond
	factor, hang, reset, slots := 20.0, 0.05, 0.0, 2
	want := spec.StubFile{
		Path: fullStub, Digest: got.Digest, Listen: "127.0.0.1:18091", Seed: 7,
		Endpoints: []spec.StubEndpoint{
			{
				Name: "charge", Match: "POST /charge", Latency: spec.Latency{P50: 20 * ms, P99: 80 * ms}, Status: 201,
				Body: json.RawMessage(`{"status":"CAPTURED","lines":[1,2]}`),
				Errors: []spec.StubError{
					{Rate: 0.01, Status: 503, Body: json.RawMessage(`"busy"`)},
					{Rate: 0.02, Status: 402},
				},
				Hang: 0.001, Reset: 0.002, Limit: &spec.StubLimit{Rate: 100, Burst: 20}, Concurrency: 50,
			},
			{Name: "inquiry", Match: "GET /charge/{id}", Latency: spec.Latency{P50: 5 * ms, P99: 5 * ms}, Status: 200, Background: true},
		},
		Phases: []spec.StubPhase{
			{Name: "slow", From: time.Minute, For: 20 * time.Second, Endpoints: []string{"charge"}, LatencyFactor: &factor},
			{
				Name: "down", From: 100 * time.Second, Errors: &[]spec.StubError{{Rate: 0.9, Status: 500}},
				Hang: &hang, Reset: &reset, Limit: &spec.StubLimit{Rate: 5.5, Burst: 5}, Concurrency: &slots,
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	schematest.Validate(t, schematest.Compile(t, "stub.schema.json"), read(t, fullStub))
}

// A phase changes the endpoints that it names, while it lasts, in what it names.
func TestStubPhase(t *testing.T) {
	f, err := spec.DecodeStub(fullStub, read(t, fullStub))
	if err != nil {
		t.Fatal(err)
	}
	charge, inquiry, slow, down := f.Endpoints[0], f.Endpoints[1], f.Phases[0], f.Phases[1]
	if got, factor := charge.At(slow); factor != 20 || cmp.Diff(charge, got) != "" {
		t.Errorf("in phase slow: factor %g, %s", factor, cmp.Diff(charge, got))
	}
	if _, factor := inquiry.At(slow); factor != 1 {
		t.Errorf("another endpoint in phase slow: factor %g", factor)
	}
	if got, _ := inquiry.At(down); got.Hang != 0.05 || got.Concurrency != 2 || got.Limit == nil || len(got.Errors) != 1 || got.Status != 200 {
		t.Errorf("in phase down: %+v", got)
	}
	if got, _ := charge.At(down); got.Reset != 0 || charge.Reset == 0 || charge.Concurrency != 50 {
		t.Errorf("in phase down: %+v of %+v", got, charge)
	}
	for since, want := range map[time.Duration]string{
		-time.Second: "", 59 * time.Second: "", 60 * time.Second: "slow", 80*time.Second - 1: "slow", 80 * time.Second: "", 100 * time.Second: "down", time.Hour: "down",
	} {
		got := ""
		for _, p := range f.Phases {
			if p.Holds(since) {
				got += p.Name
			}
		}
		if got != want {
			t.Errorf("after %v: phase %q, want %q", since, got, want)
		}
	}
}

// The latency at the deviates of a standard normal distribution's quantiles.
func TestStubLatency(t *testing.T) {
	l := spec.Latency{P50: 20 * time.Millisecond, P99: 80 * time.Millisecond}
	for z, want := range map[float64]time.Duration{0: l.P50, 2.3263478740408408: l.P99, -2.3263478740408408: 5 * time.Millisecond} {
		if got := l.At(z); math.Abs(float64(got-want)) > float64(time.Microsecond) {
			t.Errorf("at %g: %v, want %v", z, got, want)
		}
	}
	fixed := spec.Latency{P50: time.Second, P99: time.Second}
	if fixed.At(5) != time.Second || (spec.Latency{}).At(5) != 0 || l.At(1e9) <= 0 {
		t.Errorf("%v, %v, %v", fixed.At(5), spec.Latency{}.At(5), l.At(1e9))
	}
}

func TestDecodeStubBadFiles(t *testing.T) {
	schema := schematest.Compile(t, "stub.schema.json")
	var got strings.Builder
	for _, e := range editsIn(t, "testdata/stub/bad.edits", func(string) string { return fullStub }) {
		c := e.badCase()
		_, err := spec.DecodeStub(c.path, c.data)
		all := faults(t, c.path, err)
		if len(all) > 1 {
			t.Errorf("%s: one mistake is reported %d times", c.path, len(all))
		}
		got.WriteString(listing(all))
		checkRefused(t, schema, c)
	}
	compareGolden(t, "testdata/stub/bad.golden", got.String())
}

// Whatever the file, DecodeStub answers with a stub, or with errors that name a line.
func FuzzDecodeStub(f *testing.F) {
	f.Add(read(f, fullStub))
	for _, e := range editsIn(f, "testdata/stub/bad.edits", func(string) string { return fullStub }) {
		f.Add(e.badCase().data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := spec.DecodeStub("fuzz.json", data)
		if err != nil {
			_ = faults(t, "fuzz.json", err)
			return
		}
		for _, e := range file.Endpoints {
			if e.Name == "" || e.Match == "" || e.Latency.P99 < e.Latency.P50 || e.Body != nil && !json.Valid(e.Body) {
				t.Fatalf("%+v", e)
			}
		}
	})
}

func TestDecodeReadsStubs(t *testing.T) {
	f := decode(t, "testdata/good/stubs.json")
	got := f.Profiles["slow-bank"].Stubs
	want := map[string]spec.Stub{
		"bank": {URL: "http://127.0.0.1:18090", File: "stubs/bank.json"},
		"mail": {URL: "https://mail.example"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if bank, mail := f.StubPath(got["bank"]), f.StubPath(got["mail"]); bank != "testdata/good/stubs/bank.json" || mail != "" {
		t.Errorf("files %q and %q", bank, mail)
	}
}

// The stub files of this repository and of its documentation are valid.
func TestStubsOfTheProject(t *testing.T) {
	schema := schematest.Compile(t, "stub.schema.json")
	_, doc, _ := strings.Cut(string(read(t, "../../docs/stubs.md")), "```json\n")
	doc, _, _ = strings.Cut(doc, "```")
	files := map[string][]byte{"docs/stubs.md": []byte(doc)}
	paths, err := filepath.Glob("../../stubs/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("files %v, error %v", paths, err)
	}
	for _, path := range paths {
		files[path] = read(t, path)
	}
	for path, data := range files {
		if _, err := spec.DecodeStub(path, data); err != nil {
			t.Error(err)
		}
		schematest.Validate(t, schema, data)
	}
}
