package system

import (
	"io"
	"slices"
	"testing"

	"assay/harness/spec"
	"assay/harness/trial"
)

// The stubs that are started have a file and a port of this machine, each once.
func TestStubsOf(t *testing.T) {
	f := spec.File{Path: "load/thresholds.json"}
	bank := spec.Stub{URL: "http://127.0.0.1:18090", File: "stubs/bank.json"}
	profiles := []spec.Profile{
		{Stubs: map[string]spec.Stub{
			"bank": bank, "any": {URL: "http://127.0.0.1:18091"}, "far": {URL: "http://bank.example:80", File: "stubs/bank.json"},
			"tls": {URL: "https://127.0.0.1:18092", File: "stubs/bank.json"}, "no port": {URL: "http://127.0.0.1", File: "stubs/bank.json"},
		}},
		{},
		{Stubs: map[string]spec.Stub{"bank": bank}},
	}
	got, err := stubsOf(f, profiles)
	if want := []usedStub{{"bank", bank.URL, "load/stubs/bank.json"}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	profiles = append(profiles, spec.Profile{Stubs: map[string]spec.Stub{"other": {URL: bank.URL, File: "stubs/other.json"}}})
	if _, err := stubsOf(f, profiles); err == nil {
		t.Error("two files at one address are accepted")
	}
}

// A reference service that is started calls the only stub.
func TestServiceCallsTheStub(t *testing.T) {
	t.Chdir(t.TempDir()) // where there is no stack
	p := (&trial.Console{W: io.Discard, Quiet: true}).Progress("stack")
	one, two := usedStub{url: "http://127.0.0.1:1"}, usedStub{url: "http://127.0.0.1:2"}
	for name, c := range map[string]struct {
		given []string
		used  []usedStub
		want  []string
	}{
		"one":   {nil, []usedStub{one}, []string{"--gateway-url", one.url}},
		"two":   {nil, []usedStub{one, two}, nil},
		"none":  {nil, nil, nil},
		"given": {[]string{"--drain=false"}, []usedStub{one}, []string{"--drain=false"}},
	} {
		if got := callingStubs(c.given, c.used, p); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
