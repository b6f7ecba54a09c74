package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/testing/goldentest"
	"assay.dev/assay/internal/testing/pagetest"
)

func markdown(c certificate.Certificate) []byte { return page.Markdown(Report(c, "")) }

func TestMarkdownGolden(t *testing.T) {
	for _, name := range names {
		goldentest.Compare(t, name+".md", markdown(example(name)))
	}
	goldentest.Compare(t, "signed.md", markdown(signedExample()))
}

// Page and Markdown list the checks of the script, those that failed first.
func TestChecksOfTheScript(t *testing.T) {
	c := example("pass")
	c.Checks = []certificate.Check{{Group: "::pay", Name: "amount", Failures: 30}, {Name: "status", Passes: 600}}
	want := [][]string{{"check", "group", "passed", "failed"}, {"amount", "pay", "0", "30"}, {"status", "", "600", "0"}}
	shown := func(table [][]string) bool { return cmp.Equal(table, want) }
	if tables := pagetest.Tables(pagetest.Markdown(t, markdown(c))); !slices.ContainsFunc(tables, shown) {
		t.Errorf("the tables are %q", tables)
	}
	if text, err := page.HTML(Full(c, Timeline{}, "")); err != nil || !strings.Contains(string(text), "Checks of the script") {
		t.Errorf("the page has no checks: %v", err)
	}
}

// The rendered text shows what the verdict is based on.
func TestMarkdownRenders(t *testing.T) {
	c := example("invalid")
	c.SLOs[0].Metric, c.SLOs[0].Lower, c.SLOs[0].Upper = "http_req_duration{name:GET /a|b_c_d}", pointer(100.0), pointer(130.0)
	root := pagetest.Markdown(t, markdown(c))
	tables := pagetest.Tables(root)
	want := [][]string{
		{"SLO", "verdict", "basis", "observed", "interval", "violations/samples"},
		{"ledger missing==0", "INVALID", "this run", "-", "", "no data"}, // SLOs that do not pass stand first
		{"ledger duplicated==0", "INVALID", "this run", "-", "", "no data"},
		{"persist_lag max<5000", "INVALID", "this run", "-", "", "no data"},
		{"http_req_duration{name:GET /a|b_c_d} p(95)<250", "PASS", "this run", "116 ms", "100 to 130", "5/440 (22 allowed)"},
	}
	if diff := cmp.Diff(want, tables[0][:5]); diff != "" {
		t.Errorf("the first rows of SLOs (-want +got):\n%s", diff)
	}
	text := pagetest.Text(root)
	for _, want := range []string{
		"INVALID: synthetic, 20 tps for 30 s, smoke scope",
		"Not signed",
		"worker-lost (INVALID): worker/1 on synthetic was killed (signal: killed). Look on the worker's host and in its log",
		"frames (INVALID): worker/1 did not report to its end. See the rule worker-lost.",
		"window (LIMITATION): 30 s judged: a smoke, too short to certify",
		c.Claim, c.Evidence.ManifestSHA256,
		"durability when a process or host is killed was not tested",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q", want)
		}
	}
	if len(tables) != 5 { // SLOs, split, latency, workers and what is left out: no waits, no ledger
		t.Errorf("%d tables", len(tables))
	}
	root = pagetest.Markdown(t, markdown(example("lost")))
	if want := "acknowledged 750, persisted 747, missing 3, duplicated 0, unacknowledged 0; persist lag p50 50.0 ms, p99 98.0 ms, max 99.0 ms"; !strings.Contains(pagetest.Text(root), want) {
		t.Errorf("the text has no %q", want)
	}
	tables = pagetest.Tables(root)
	for i, want := range [][]string{
		{"unmeasured", "44.4", "34.9", "9.50", "-3.91 to 22.3"},
		{"transaction", "600", "70.0", "111", "116", "300", "300", "300", "74.4"},
		{"commit", "io/file/innodb/innodb_log_file", "0.50", "83.3 %", "25.0", "40.0", "150"},
	} {
		if diff := cmp.Diff(want, tables[i+1][1]); diff != "" {
			t.Errorf("table %d (-want +got):\n%s", i+1, diff)
		}
	}
}

// Whatever the texts of a certificate, they are shown as text: the page has no other
// elements than that of an ordinary certificate, and no extra table cells.
func TestMarkdownOfAnyCertificate(t *testing.T) {
	ordinary := append(pagetest.Elements(pagetest.Markdown(t, markdown(example("fail")))), pagetest.Elements(pagetest.Markdown(t, markdown(example("invalid"))))...)
	rapid.Check(t, func(rt *rapid.T) {
		c := anyCertificate(rt)
		root := pagetest.Markdown(t, markdown(c))
		for _, e := range pagetest.Elements(root) {
			if !slices.Contains(ordinary, e) {
				rt.Errorf("unexpected element %s", e)
			}
		}
		tables := pagetest.Tables(root)
		for _, table := range tables {
			for _, row := range table {
				if len(row) != len(table[0]) {
					rt.Errorf("a row has %d cells: %q", len(row), row)
				}
			}
		}
		if got, want := len(tables[0])-1, min(len(c.SLOs), maxRows); got != want {
			rt.Errorf("%d SLOs, want %d", got, want)
		}
		if s := c.SLOs[0]; len(c.SLOs) <= maxRows && len(s.Metric+s.Expression) < 100 && tables[0][1][0] != page.Clean(strings.Join(strings.Fields(s.Metric+" "+s.Expression), " ")) {
			rt.Errorf("the first SLO reads %q", tables[0][1][0])
		}
	})
}

// However large the certificate, its page stays below GitHub's limit.
func TestMarkdownIsBounded(t *testing.T) {
	const limit = 1 << 20
	c := example("fail")
	long := strings.Repeat("|<&\U0001f600", 5_000)
	c.Profile, c.Claim, c.Run, c.Environment.Target, c.Evidence.ManifestSHA256 = long, long, long, long, long
	for range 500 {
		c.SLOs = append(c.SLOs, certificate.SLO{Metric: long, Expression: long, Unit: long, Observed: pointer(1.0), Verdict: long})
		c.Rules = append(c.Rules, certificate.Rule{ID: long, Detail: long, Advice: long, Verdict: "INVALID"}, certificate.Rule{ID: long, Detail: long, Verdict: certificate.Limitation})
		c.Waits = append(c.Waits, certificate.Wait{Class: long, Event: long})
		c.Limitations = append(c.Limitations, long)
		c.Latency[long[:len(c.Limitations)]] = certificate.Latency{}
	}
	if n := len(markdown(c)); n >= limit {
		t.Errorf("%d bytes", n)
	}
}
