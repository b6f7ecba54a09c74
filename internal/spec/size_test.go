package spec

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/internal/hint"
)

// repeated are elements of a list or object, each with its number for #, up to some bytes.
func repeated(form string, bytes int) string {
	var all strings.Builder
	for n := 0; all.Len() < bytes; n++ {
		all.WriteString("," + strings.ReplaceAll(form, "#", strconv.Itoa(n)))
	}
	return all.String()[1:]
}

// A file of 1 MiB that has nothing else than one list, or one object, is refused for that.
func TestListsThatAreTooLong(t *testing.T) {
	profile := func(key string) string { return `{"version": 1, "profiles": {"p": {"scenario": "a.js", ` + key + `}}}` }
	thresholds := func(text string) error { _, err := Decode("t.json", []byte(text)); return err }
	experiment := func(text string) error { _, err := DecodeExperiment("e.json", []byte(text)); return err }
	stub := func(text string) error { _, err := DecodeStub("s.json", []byte(text)); return err }
	for _, c := range []struct {
		decode           func(string) error
		file, form, want string
	}{
		{thresholds, `{"version": 1, "targets": [%s]}`, `"h#"`, "t.json:1: targets: has more than 1000 elements"},
		{thresholds, `{"version": 1, "profiles": {%s}}`, `"p#": {}`, "profiles: has more than 1000 elements"},
		{thresholds, `{"version": 1, "profiles": {%s}}`, `"p": {}`, "profiles: has more than 1000 elements"},
		{thresholds, `{"version": 1, %s}`, `"p#": 1`, "t.json:1: has more than 1000 elements"},
		{thresholds, profile(`"slo": {%s}`), `"m#": ["rate>0.9"]`, "profiles.p.slo: has more than 1000 elements"},
		{thresholds, profile(`"slo": {"m": [%s]}`), `"rate>0.#"`, "profiles.p.slo.m: has more than 1000 elements"},
		{thresholds, profile(`"load": {"stages": [%s]}`), `#`, "profiles.p.load.stages: has more than 10000 elements"},
		{thresholds, profile(`"consumer": {"brokers": [%s]}`), `"a:#"`, "profiles.p.consumer.brokers: has more than 100 elements"},
		{thresholds, profile(`"needs": [%s]`), `"db"`, "profiles.p.needs: has more than 1000 elements"},
		{thresholds, profile(`"env": {%s}`), `"A#": ""`, "profiles.p.env: has more than 1000 elements"},
		{thresholds, profile(`"faults": [{"run": [%s]}]`), `"#"`, "profiles.p.faults[0].run: has more than 1000 elements"},
		{experiment, `{"version": 1, "primary": [%s]}`, `"#"`, "e.json:1: primary: has more than 1000 elements"},
		{experiment, `{"version": 1, "variants": [{"global": {%s}}]}`, `"a#": 1`, "variants[0].global: has more than 1000 elements"},
		{stub, `{"version": 1, "endpoints": [%s]}`, `{"name": "e#"}`, "endpoints: has more than 1000 elements"},
		{stub, `{"version": 1, "endpoints": [{"errors": [%s]}]}`, `{"rate": 0.#}`, "endpoints[0].errors: has more than 1000 elements"},
		{stub, `{"version": 1, "phases": [%s]}`, `{"name": "p#"}`, "phases: has more than 100 elements"},
		{stub, `{"version": 1, "phases": [{"endpoints": [%s]}]}`, `"e#"`, "phases[0].endpoints: has more than 1000 elements"},
	} {
		before := allocated()
		err := c.decode(fmt.Sprintf(c.file, repeated(c.form, MaxBytes-200)))
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if used := allocated() - before; used > 32<<20 {
			t.Errorf("%q takes %d MiB", c.want, used>>20)
		}
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// Mistakes are listed up to a hundred, with hints that a person can read.
func TestFilesOfMistakes(t *testing.T) {
	const name = "a-name-of-64-letters-which-is-what-the-name-of-an-endpoint-can-h"
	var endpoints, wrong []string
	for n := range 1000 {
		endpoints = append(endpoints, fmt.Sprintf(`{"name": "%s%04d", "match": "/%d", "latency": {"fixed": "0s"}}`, name[:60], n, n))
		wrong = append(wrong, fmt.Sprintf(`"%s-%03d"`, name[:60], n))
	}
	for what, decode := range map[string]func() error{
		"stages": func() error {
			_, err := Decode("t.json", []byte(`{"version": 1, "profiles": {"p": {"scenario": "a.js", "slo": {"m": ["rate>0.9"]}, "load": {"stages": [`+strings.Repeat("{},", 9999)+"{}]}}}}"))
			return err
		},
		"keys": func() error {
			_, err := Decode("t.json", []byte(`{"version": 1, "profiles": {`+strings.TrimSuffix(strings.Repeat(`"p": {`+repeated(`"scenari#": 1`, 15_000)+"},", 60), ",")+`}}`))
			return err
		},
		"faults": func() error {
			_, err := Decode("t.json", []byte(`{"version": 1, "profiles": {`+repeated(`"p#": {"faults": [`+strings.Repeat("{},", 999)+`{}]}`, 900_000)+"}}"))
			return err
		},
		"tags": func() error {
			_, err := Decode("t.json", []byte(`{"version": 1, "profiles": {"p": {"scenario": "a.js", "load": {"target": 1}, "slo": {"m{`+repeated("k#:b", MaxBytes-200)+`}": ["rate>0.9"]}}}}`))
			return err
		},
		"endpoints": func() error {
			_, err := DecodeStub("s.json", []byte(`{"version": 1, "endpoints": [`+strings.Join(endpoints, ",")+`], "phases": [{"name": "p", "from": "0s", "hang": 0.5, "endpoints": [`+strings.Join(wrong, ",")+"]}]}"))
			return err
		},
	} {
		before := allocated()
		var all Errors
		if err := decode(); !errors.As(err, &all) || len(all) > maxFaults+1 || len(all) > 1 && all[len(all)-1].Problem != "more than 100 mistakes: the others are not listed" {
			t.Errorf("%s: %d mistakes, %v", what, len(all), err)
		}
		for _, e := range all {
			if len(e.Error()) > 500 || len(hint.Of(e)) > 2000 {
				t.Errorf("%s: %v, with a hint of %d bytes", what, e, len(hint.Of(e)))
			}
		}
		limit := uint64(150 << 20)
		if what == "faults" { // the validator makes an error of each of 300,000
			limit = 600 << 20
		}
		if used := allocated() - before; used > limit {
			t.Errorf("%s take %d MiB", what, used>>20)
		}
	}
}

// Phases of disjoint endpoints are compared in time that a stub may take to start.
func TestManyPhasesOfManyEndpoints(t *testing.T) {
	var endpoints, phases []string
	for n := range maxElements {
		endpoints = append(endpoints, fmt.Sprintf(`{"name": "e%d", "match": "/%d", "latency": {"fixed": "0s"}, "body": [%s]}`, n, n, strings.Repeat("1,", 200)+"1"))
	}
	for n := range longer["phases"] {
		var of []string
		for k := range 10 {
			of = append(of, fmt.Sprintf(`"e%d"`, 10*n+k))
		}
		phases = append(phases, fmt.Sprintf(`{"name": "p%d", "from": "1s", "for": "1s", "latency_factor": 10, "endpoints": [%s]}`, n, strings.Join(of, ",")))
	}
	began := time.Now()
	s, err := DecodeStub("s.json", []byte(`{"version": 1, "endpoints": [`+strings.Join(endpoints, ",")+`], "phases": [`+strings.Join(phases, ",")+"]}"))
	if err != nil || len(s.Phases) != 100 {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it takes %v", took)
	}
	body := strings.Repeat("1,", 5000) + "1"
	if _, err := DecodeStub("s.json", []byte(`{"version": 1, "endpoints": [{"name": "e", "match": "/", "latency": {"fixed": "0s"}, "body": {"all": [`+body+"]}}]}")); err != nil {
		t.Errorf("a long body: %v", err)
	}
}
