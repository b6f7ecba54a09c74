package record

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/mask"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/plan"
	"assay.dev/assay/internal/spec"
)

// own are the texts of facts and environment that the run itself makes, or that name
// machines and builds: a word of theirs may be a password.
var own = []string{
	"Schema", "Source", "State", "Metric", "Expression", "Unit", "Protects", "Name", "Node", "Phase", "Path", "SHA256", "URL",
	"OS", "Kernel", "CPU", "Flavour", "Version", "CoLocation", "Instruments", "Pod", "Duration", "Endpoints", "Phases", "Do", "Exit",
}

// fill sets all strings of a value, but for those of own, to a text.
func fill(v reflect.Value, field, text string) {
	switch v.Kind() {
	case reflect.String:
		if !slices.Contains(own, field) {
			v.SetString(text)
		}
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Struct || v.Type().Elem().Kind() == reflect.Float64 || v.Type().Elem().Kind() == reflect.Int {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), field, text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type().Field(i).Type.String() != "time.Time" {
				fill(v.Field(i), v.Type().Field(i).Name, text)
			}
		}
	case reflect.Slice:
		if !slices.Contains(own, field) {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), field, text)
		}
	case reflect.Map:
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("key"), reflect.ValueOf(text))
		}
	}
}

// No file of a run has a secret of the environment, whichever text of facts and
// environment had it (a plan that has one is refused); and what the run goes on with is unchanged.
func TestFilesHoldNoSecret(t *testing.T) {
	t.Setenv("ASSAY_DB", `assay:Zq7&x"w@tcp(db.test:3306)/shop`)
	mask.Environment()
	const text = `cannot use assay:Zq7&x"w@tcp(db.test:3306)/shop: Zq7&x"w is wrong`
	p := aPlan()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, p)
	if err != nil {
		t.Fatal(err)
	}
	var e Environment
	fill(reflect.ValueOf(&e).Elem(), "", text)
	e.Service.Builds[0].Metric = text
	e.Service.Builds[0].Labels[text] = text
	var f Facts
	fill(reflect.ValueOf(&f).Elem(), "", text)
	f.Workers[0].Pod.Reason = "Evicted"
	if f.Workers[0].Pod.Message != text || e.Service.Builds[0].Labels["key"] != text {
		t.Fatalf("the test fills too little: %+v", f)
	}
	if err := w.Frame(metric.Frame{Source: "worker/0", Sequence: 1, Second: 1, Closing: true}); err != nil {
		t.Fatal(err)
	}
	if err := w.Environment(e); err != nil {
		t.Fatal(err)
	}
	if err := w.Seal(f); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{environmentFile, factsFile} {
		data, err := os.ReadFile(filepath.Join(dir, EvidenceDir, name))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, "Zq7") {
				t.Errorf("%s: %s", name, line)
			}
		}
		if !strings.Contains(string(data), "cannot use ***: *** is wrong") {
			t.Errorf("%s has no text that was masked:\n%s", name, data)
		}
	}
	if f.Limitations[0] != text || e.Database.Variables["key"] != text {
		t.Error("the texts of the run itself were changed")
	}
}

// A sealed record can be read, however much each of the most workers has logged in one line.
func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("<", 4<<10)
	p := aPlan()
	load, err := plan.New(p.Profile, spec.MaxFleet, 1)
	must(t, err)
	p.Load = load
	e, f := anEnvironment(), someFacts(StateAbsent)
	e.Database = &Database{Version: long, Variables: map[string]string{"init_connect": long}}
	for i := range 4 * maxInstruments {
		name := fmt.Sprint(i, long)
		e.Database.Instruments, e.Database.Variables[name] = append(e.Database.Instruments, name), long
	}
	e.Service = &Service{Builds: []Build{{Metric: long, Labels: map[string]string{long: long}}}}
	f.Stopped, f.Ledger.Reason, f.Collectors = "worker/0 "+long, long, []Collect{{Reason: long}}
	for i := range spec.MaxFleet {
		f.Workers = append(f.Workers, Worker{Source: metric.WorkerSource(i), Error: long, Logged: long, Pod: &Pod{Reason: long}})
		f.Limitations = append(f.Limitations, strings.Repeat(long, 5))
	}
	dir := filepath.Join(t.TempDir(), "run")
	w, err := Create(dir, p)
	must(t, err, w.Frame(latencies("worker/0", 1, 1)), w.Environment(e), w.Seal(f))
	r, err := Open(dir)
	must(t, err)
	if n := len(r.Facts.Limitations); n != maxLimitations+1 || r.Facts.Limitations[n-1] != "900 more limitations are not recorded" {
		t.Errorf("%d limitations", n)
	}
	if got := r.Facts.Limitations[0]; len(got) != maxLimitation {
		t.Errorf("%d bytes of a limitation", len(got))
	}
	if got := r.Facts.Workers[7].Logged; len(got) != maxSaid || !strings.HasSuffix(got, "<...") {
		t.Errorf("%d bytes of a log", len(got))
	}
}

// A password may be a word that rules read.
func TestWordsOfTheRecordAreLeft(t *testing.T) {
	mask.Add("worker/77", "signal: 77", "Reason77")
	f := Facts{Stopped: "worker/77 ended: Reason77", Workers: []Worker{{Exit: "signal: 77", Error: "signal: 77", Pod: &Pod{Reason: "Reason77"}}}}
	masked := f.masked()
	w := masked.Workers[0]
	if masked.Stopped != "worker/77 ended: ***" || w.Exit != "signal: 77" || w.Error != "***" || w.Pod.Reason != "Reason77" {
		t.Errorf("%+v", masked)
	}
	if f.Stopped = "interrupted"; f.masked().Stopped != f.Stopped {
		t.Errorf("%q", f.masked().Stopped)
	}
}
