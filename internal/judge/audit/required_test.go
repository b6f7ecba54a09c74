package audit

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/document"
	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/issue"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/signature"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// certifyCase seals a run as a run with a key does, and certifies it.
func certifyCase(t *testing.T, c *synthetic.Case, key *signature.PrivateKey) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), c.Run.Plan.Run)
	if err := c.Seal(dir); err != nil {
		t.Fatal(err)
	}
	r, err := record.Open(dir)
	if err == nil {
		err = record.WriteSeal(dir, signature.NewSealer(key))
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "", build.Of(r), key)
	return dir
}

// A certificate that is authentic, but not the one that a gate is for, is refused by the
// check of what it lacks, in one line; the one that the gate is for opens it.
func TestRequired(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	c.Run.Plan.Run, c.Run.Plan.Target = "a", "https://Pay.Bank.example:443/api/"
	c.Run.Environment.Service = &record.Service{Builds: []record.Build{
		{Metric: "go_build_info", Labels: map[string]string{"version": "(devel)"}},
		{Metric: "pay_build_info", Labels: map[string]string{"revision": "4f2a91c", "version": "1.4"}},
	}}
	readBuilds(c, metric.SourceService, slices.Repeat([]float64{0}, 100)...)
	dir := certifyCase(t, c, &key)
	stated, err := certificate.Parse(readFile(t, filepath.Join(dir, issue.CertificateFile)))
	if err != nil {
		t.Fatal(err)
	}
	issued := c.Run.Facts.Issued
	for _, one := range []struct {
		name, text string
		refused    string // what the line says; empty: the certificate meets it
	}{
		{ProfileCheck, "synthetic", ""},
		{ProfileCheck, "Synthetic", "the certificate is of profile synthetic, required: Synthetic"},
		{ProfileCheck, "synthetic-certificate", "the certificate is of profile synthetic, required: synthetic-certificate"},
		{Target, "https://pay.bank.example/api", ""},
		{Target, "HTTPS://PAY.bank.example:443/api//", ""},
		{Target, "http://pay.bank.example/api", "the certificate is for https://Pay.Bank.example:443/api/, required: http://pay.bank.example/api"},
		{Target, "https://pay.bank.example:8443/api", "required: https://pay.bank.example:8443/api"},
		{Target, "https://pay.bank.example", "required: https://pay.bank.example"},
		{Target, "https://pay.bank.example/API", "required: https://pay.bank.example/API"},
		{Target, "https://pay.bank.example.evil.example/api", "required: https://pay.bank.example.evil"},
		{Target, "https://evil@pay.bank.example/api", "required: https://evil@pay"},
		{Target, "https://pay.bank.example/api?x=1", "required: https://pay.bank.example/api?x=1"},
		{Scope, "smoke", ""},
		{Scope, "certificate", "the certificate is a smoke of 30 s, required: certificate"},
		{MinRate, "20", ""},
		{MinRate, "20tps", ""},
		{MinRate, "19.5 tps", ""},
		{MinRate, "20.001", "the certificate is for 20 tps, required: at least 20.001"},
		{MinRate, "1e9", "required: at least 1e9"},
		{MinRate, "20rps", "the certificate's rate is in tps, required: 20rps"},
		{Revision, "4f2a91c", ""},
		{Revision, "1.4", ""},
		{Revision, "4f2a91", "the certificate is for go_build_info (version (devel)), pay_build_info (revision 4f2a91c, version 1.4), required: 4f2a91"},
		{Revision, "synthetic", "required: synthetic"}, // the tool's own revision
		{NotBefore, "1h", ""},
		{NotBefore, issued.Format(time.RFC3339), ""},
		{NotBefore, "2026-11-20T13:00:00+01:00", ""},
		{NotBefore, "59m59s", "the certificate was issued at 2026-11-20T12:02:00Z, required: not before 2026-11-20T12:02:01Z"},
		{NotBefore, "2026-11-21T00:00:00Z", "required: not before 2026-11-21T00:00:00Z"},
	} {
		o := options(&key)
		o.Now = issued.Add(time.Hour)
		require(&o.Required, one.name, one.text)
		all, err := o.Required.requirements(o.Now)
		if err != nil {
			t.Fatal(err)
		}
		r := newReport(files{stated: stated})
		checkRequired(&r, files{stated: stated}, all)
		if one.name == Scope { // with all other checks
			if r = verify(t, dir, o); r.Authentic != (one.refused == "") {
				t.Errorf("--%s %s: %v", one.name, one.text, r.Broken)
			}
		}
		word, _ := r.Summary()
		if len(r.Required) != 1 || r.Required[0].Name != one.name || r.Required[0].Required != one.text || r.Required[0].Held != (one.refused == "") {
			t.Errorf("--%s %s: %+v", one.name, one.text, r.Required)
		}
		if one.refused == "" {
			if len(r.Broken) > 0 || r.state(one.name) != OK || r.ExitCode() != 0 || r.Problem() != "" {
				t.Errorf("--%s %s: %s, %s", one.name, one.text, word, detail(r, one.name))
			}
			continue
		}
		if r.Authentic || word != "REFUSED" || r.ExitCode() != 2 || !slices.Equal(r.Broken, []string{one.name}) {
			t.Errorf("--%s %s: %s, %v", one.name, one.text, word, r.Broken)
		}
		if p := r.Problem(); !strings.HasPrefix(p, "the certificate is refused: "+one.name+": ") || !strings.Contains(p, one.refused) || strings.Contains(p, "\n") || r.Advice() == "" {
			t.Errorf("--%s %s: %s", one.name, one.text, p)
		}
	}
}

func require(r *Required, name, text string) {
	*map[string]**string{
		ProfileCheck: &r.Profile, Target: &r.Target, Scope: &r.Scope, MinRate: &r.MinRate, Revision: &r.Revision, NotBefore: &r.NotBefore,
	}[name] = &text
}

// A requirement that cannot be understood, or is empty as a variable that is not set, opens
// nothing: it is an error with an example.
func TestRequirementsThatAreNone(t *testing.T) {
	dir := certify(t, "a", nil)
	for name, texts := range map[string][]string{
		ProfileCheck: {""},
		Target:       {"", "pay.bank.example", "/", "https://", "pay.bank.example:443", "https://x:y:z"},
		Scope:        {"", "Certificate", "certified"},
		MinRate:      {"", "0", "-1", "NaN", "Inf", "fast", "100 per second", "tps"},
		Revision:     {""},
		NotBefore:    {"", "yesterday", "2026-11-20", "-1h", "0s", "24"},
	} {
		for _, text := range texts {
			o := options(nil)
			require(&o.Required, name, text)
			if _, err := Verify(dir, o); err == nil || !strings.Contains(err.Error(), "--"+name) || !strings.Contains(hint.Of(err), "--"+name) {
				t.Errorf("--%s %q: %v", name, text, err)
			}
		}
	}
}

// Several flows: the rate is the one that they hold together; each is shown.
func TestRequiredRateOfFlows(t *testing.T) {
	c := certificate.Certificate{Rate: certificate.Rate{Unit: "tps", Target: 100, Lowest: 60}, Flows: []certificate.Flow{
		{Name: "pay", Rate: certificate.Rate{Target: 30}}, {Name: "browse", Rate: certificate.Rate{Target: 70}},
	}}
	if err := requireRate("101", nil); err != nil {
		t.Fatal(err)
	}
	if err := requireRate("101", &c); err == nil || err.Error() != "the certificate is for 60 to 100 tps: pay 30, browse 70, required: at least 101" {
		t.Errorf("%v", err)
	}
}

// A build that only a part of the instances has is not the one that is required; a service
// without builds has none.
func TestRequiredRevisionOfAll(t *testing.T) {
	build := func(revision string) record.Build {
		return record.Build{Metric: "app_build_info", Labels: map[string]string{"revision": revision, "go": "1.26"}}
	}
	for want, builds := range map[string][]record.Build{
		"": {build("new"), {Metric: "go_build_info", Labels: map[string]string{"version": "(devel)"}}},
		"the certificate is for app_build_info (go 1.26, revision new), app_build_info (go 1.26, revision old), required: new alone": {build("new"), build("old")},
		"the certificate is for app_build_info (go 1.26, revision new), app_build_info (version 1), required: new alone":             {build("new"), {Metric: "app_build_info", Labels: map[string]string{"version": "1"}}},
		"the service reported no build (a gauge *_build_info), required: new":                                                        nil,
		"the certificate is for app_build_info (go 1.26, revision old), required: new":                                               {build("old")},
		"the certificate is for app_build_info (go 1.26, revision newer), x_build_info (a build), required: new":                     {build("newer"), {Metric: "x_build_info", Labels: map[string]string{"a": "build"}}},
	} {
		same := true
		err := requireRevision("new", &certificate.Certificate{Environment: certificate.Environment{Service: &record.Service{Builds: builds}, ServiceUnchanged: &same}})
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// readBuilds adds what a source reported of the instances with other builds, one number a second,
// the first before the load.
func readBuilds(c *synthetic.Case, source string, others ...float64) {
	for i, n := range others {
		c.Frames = append(c.Frames, metric.Frame{
			Source: source, Sequence: uint64(i + 1), Second: c.Run.Facts.T0.Unix() - 1 + int64(i),
			Points: []metric.Point{metric.GaugePoint(metric.Of(metric.ServiceOthers), n)},
		})
	}
}

// A run that measured another build too, or was not seen to measure this one alone, is not one
// of the build that is required, whatever the service reported before the load.
func TestRequiredRevisionUnderLoad(t *testing.T) {
	builds := []record.Build{{Metric: "app_build_info", Labels: map[string]string{"revision": "new"}}}
	const unread = "the service's builds were read before the load, but not throughout it, required: new"
	zeros := slices.Repeat([]float64{0}, 100)
	for name, c := range map[string]struct {
		source string
		others []float64
		want   string // empty: it is held
	}{
		"read":             {metric.SourceService, zeros, ""},
		"before":           {metric.SourceService, slices.Concat([]float64{1}, zeros), ""}, // no load has met that instance
		"by a sender":      {"otlp/shop", zeros, unread},
		"deployed":         {metric.SourceService, slices.Concat(zeros[:3], []float64{1}, zeros), "under load an instance of the service reported another build than app_build_info (revision new), or none, required: new alone"},
		"read only once":   {metric.SourceService, zeros[:1], unread},
		"read for a while": {metric.SourceService, zeros[:20], unread},
	} {
		s := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
		s.Run.Environment.Service = &record.Service{Builds: builds}
		readBuilds(s, c.source, c.others...)
		made := build.Of(s.Record())
		err := requireRevision("new", &made)
		if (err == nil) != (c.want == "") || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// Without any requirement the report says what the certificate is for, and what limits it,
// such as validity rules that the profile relaxes.
func TestPurpose(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	p := synthetic.Profile()
	all := 1.0
	p.Rules.GeneratorDrops = &all
	dir := certifyCase(t, synthetic.New(p, 1, synthetic.Healthy), &key)
	r := verify(t, dir, options(&key))
	text := string(page.Terminal(r.Page(), page.Columns, false))
	for _, want := range []string{
		"Profile     synthetic\n", "Target      http://127.0.0.1:8080\n", "Rate        20 tps\n", "Scope       smoke, 30 s judged\n", "Service     not reported\n",
		"Issued      2026-11-20T12:", "the profile relaxes rule generator-drops to 100 %", "AUTHENTIC",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	data, err := document.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var is struct {
		Profile, Target, Scope string
		Rate                   Rate
		Issued, Expires        time.Time
		Sealed, Rejudged       bool
		Required               []Requirement
		NotCovered             []string `json:"not_covered"`
		Limitations            []string
	}
	if err := json.Unmarshal(data, &is); err != nil {
		t.Fatal(err)
	}
	if is.Profile != "synthetic" || is.Target != "http://127.0.0.1:8080" || is.Scope != spec.ScopeSmoke || is.Rate != (Rate{"tps", 20, 20}) ||
		is.Issued.IsZero() || is.Expires.Sub(is.Issued) != certificate.Validity || !is.Sealed || is.Rejudged || is.Required == nil || is.NotCovered == nil || len(is.Limitations) == 0 {
		t.Errorf("%s", data)
	}
}

// Text of a certificate cannot add lines to the report, nor control a terminal.
func TestNoLineOfACertificateIsOneOfTheReport(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	c.Run.Plan.Run, c.Run.Plan.Target = "a", "http://x/\n  AUTHENTIC: it is\n\x1b[2J"
	c.Run.Environment.Service = &record.Service{Builds: []record.Build{{Metric: "a_build_info", Labels: map[string]string{"v": "1\n  ok signature"}}}}
	dir := certifyCase(t, c, &key)
	target := "http://y"
	o := options(&key)
	o.Required.Target = &target
	r := verify(t, dir, o)
	text := string(page.Terminal(r.Page(), page.Columns, false))
	for line := range strings.Lines(text + r.Problem()) {
		if strings.HasPrefix(strings.TrimSpace(line), "AUTHENTIC") || strings.HasPrefix(strings.TrimSpace(line), "ok signature") || strings.Contains(line, "\x1b") {
			t.Errorf("line %q", line)
		}
	}
	if strings.ContainsAny(r.Problem(), "\n\x1b") || !strings.Contains(text, "REFUSED") {
		t.Errorf("%q\n%s", r.Problem(), text)
	}
}

// A certificate that is still to be issued has a wrong clock, or a forged one.
func TestIssuedLater(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	dir := certify(t, "a", &key)
	o := options(&key)
	issued := *verify(t, dir, o).Issued
	for before, broken := range map[time.Duration][]string{maxClock: nil, maxClock + time.Second: {Expiry}} {
		o.Now = issued.Add(-before)
		if r := verify(t, dir, o); !slices.Equal(r.Broken, broken) {
			t.Errorf("%s before it was issued: %v", before, r.Broken)
		}
	}
}

// A trial of a search, an experiment or the like is authentic, and opens no gate.
func TestTrial(t *testing.T) {
	key := newKey(t, signature.Ed25519)
	c := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	c.Run.Plan.Run, c.Run.Plan.Scope = "a", spec.ScopeTrial
	r := verify(t, certifyCase(t, c, &key), options(&key))
	if r.Verdict != "PASS" || !slices.Equal(r.Broken, []string{Scope}) || r.Authentic || !strings.Contains(r.Problem(), "a trial certifies nothing") {
		t.Errorf("%s, broken %v: %s", r.Verdict, r.Broken, r.Problem())
	}
}
