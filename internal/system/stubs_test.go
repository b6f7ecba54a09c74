//go:build live

package system

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay.dev/assay/internal/doctor"
	"assay.dev/assay/internal/run"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/trial"
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

// What the stub of one profile lacks is not said of another's.
func TestExamineStubs(t *testing.T) {
	file := spec.File{Path: filepath.Join("..", "..", "thresholds.json")}
	of := func(name, port, path string) spec.Profile {
		return spec.Profile{Name: name, Stubs: map[string]spec.Stub{"bank": {URL: "http://127.0.0.1:" + port, File: path}}}
	}
	found := examineStubs(t.Context(), run.Options{Task: run.Task{File: file}}, []spec.Profile{of("a", "18090", "stubs/none.json"), {Name: "no stubs"}, of("b", "18091", "stubs/bank.json")})
	if len(found) != 2 || found[0].Profile != "a" || found[0].State != doctor.Lacking || found[1].Profile != "b" || found[1].State != doctor.OK {
		t.Errorf("%+v", found)
	}
}

// A reference service that is started calls the only stub; one that calls something else is
// said, and a profile without a stub is not certified by one that calls a stub.
func TestServiceCallsTheStub(t *testing.T) {
	one, two := usedStub{name: "bank", url: "http://127.0.0.1:1"}, usedStub{url: "http://127.0.0.1:2"}
	callsOne := []string{"--gateway-url", one.url}
	with, without := spec.Profile{Name: "a", Stubs: map[string]spec.Stub{"bank": {URL: one.url}}}, spec.Profile{Name: "b"}
	for name, c := range map[string]struct {
		given, running []string
		used           []usedStub
		profiles       []spec.Profile
		want           []string
		says           string // as a note or an error
	}{
		"one":                      {nil, nil, []usedStub{one}, []spec.Profile{with}, callsOne, ""},
		"two":                      {nil, nil, []usedStub{one, two}, []spec.Profile{with}, nil, ""},
		"none":                     {nil, nil, nil, []spec.Profile{without}, nil, ""},
		"given":                    {[]string{"--drain=false"}, nil, []usedStub{one}, []spec.Profile{with, without}, []string{"--drain=false"}, ""},
		"of one profile":           {nil, nil, []usedStub{one}, []spec.Profile{with, without}, nil, "calls the stub bank, which the profile b does not have"},
		"up, of one profile":       {nil, []string{"--gateway-url=" + one.url}, []usedStub{one}, []spec.Profile{with, without}, nil, "calls the stub bank, which the profile b does not have"},
		"up":                       {nil, callsOne, []usedStub{one}, []spec.Profile{with}, nil, ""},
		"up, for one mode":         {nil, []string{"--gateway-url", "card=" + one.url}, []usedStub{one}, []spec.Profile{with, without}, nil, ""},
		"up, and calls none":       {nil, []string{}, []usedStub{one}, []spec.Profile{with}, nil, "does not call the stub bank"},
		"up, and calls what ended": {nil, callsOne, nil, []spec.Profile{without}, nil, "calls http://127.0.0.1:1, which is no stub of the profile"},
	} {
		var said strings.Builder
		p := (&trial.Console{W: &said}).Progress("stack")
		got, err := callingStubs(c.given, c.running, c.used, c.profiles, p)
		if err != nil {
			said.WriteString(err.Error())
		}
		if !slices.Equal(got, c.want) || !strings.Contains(said.String(), c.says) || (c.says == "") != (said.String() == "") {
			t.Errorf("%s: %q, want %q; %s", name, got, c.want, said.String())
		}
	}
}
