package certificate

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"assay/harness/judge/diagnose"
	"assay/harness/judge/internal/synthetic"
	"assay/harness/judge/verdict"
	"assay/harness/observe/ledger"
	"assay/harness/observe/metric"
	"assay/harness/observe/record"
)

var update = flag.Bool("update", false, "write the golden files anew")

// cases are the verdicts that have golden files.
func cases() map[string]record.Run {
	slow := func(n int64) (float64, string) {
		switch ms, _ := synthetic.Healthy(n); {
		case n%40 == 0:
			return 10_000, metric.TimedOut
		case n%100 == 5:
			return ms, metric.Failed
		case n%10 == 3:
			return ms + 400, metric.Completed
		default:
			return ms, metric.Completed
		}
	}
	fail := synthetic.New(synthetic.Profile(), 2, slow)

	lost := synthetic.New(synthetic.Profile(), 1, synthetic.Healthy)
	l := lost.Run.Ledger
	l.Missing, l.Persisted, l.Lags = 3, l.Persisted-3, l.Lags[3:]

	invalid := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	invalid.Run.Facts.Workers[1] = record.Worker{Source: "worker/1", Exit: "signal: killed"}
	invalid.Run.Plan.Tool.Dirty = true
	invalid.Run.Facts.Collectors[0] = record.Collect{Source: "database", State: "failed", Reason: "access denied"}
	invalid.Run.Facts.Ledger, invalid.Run.Ledger = record.LedgerFact{State: "failed", Reason: "table not found"}, (*ledger.Comparison)(nil)
	whole := invalid.Frames
	invalid.Frames = nil
	for _, f := range whole { // worker/1 ends in the middle of the hold
		if f.Source == "worker/0" || f.Source == "worker/1" && f.Sequence <= 30 {
			invalid.Frames = append(invalid.Frames, f)
		}
	}
	return map[string]record.Run{
		"pass":    synthetic.New(synthetic.Profile(), 2, synthetic.Healthy).Record(),
		"fail":    fail.Record(),
		"lost":    lost.Record(),
		"invalid": invalid.Record(),
	}
}

func certify(r record.Run) Certificate {
	return Build(r, verdict.Judge(r), diagnose.Waits(r))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update writes it anew):\n%s", name, diff)
	}
}

func TestGolden(t *testing.T) {
	schema := compile(t)
	for name, r := range cases() {
		t.Run(name, func(t *testing.T) {
			c := certify(r)
			data, err := Marshal(c)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", data)
			doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(doc); err != nil {
				t.Error(err)
			}
			var text bytes.Buffer
			if err := Summary(&text, c, false); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", text.Bytes())
			checkPage(t, text.String())
		})
	}
}

// checkPage holds a summary to the terminal that it is for.
func checkPage(t *testing.T, text string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 44 {
		t.Errorf("summary has %d lines", len(lines))
	}
	for _, line := range lines {
		if width(line) > columns {
			t.Errorf("line is %d wide: %s", width(line), line)
		}
		if strings.TrimRight(line, " ") != line {
			t.Errorf("line ends in blanks: %q", line)
		}
	}
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("certificate.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("certificate.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// The schema describes each field that Marshal writes, and refuses a
// certificate that lacks one of the contract.
func TestSchemaKnowsEveryField(t *testing.T) {
	schema := compile(t)
	data, err := Marshal(certify(cases()["pass"]))
	if err != nil {
		t.Fatal(err)
	}
	var c map[string]any
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	for field := range c {
		if schema.Properties[field] == nil {
			t.Errorf("the schema does not know %s", field)
		}
		less := map[string]any{}
		for k, v := range c {
			if k != field {
				less[k] = v
			}
		}
		if schema.Validate(less) == nil {
			t.Errorf("a certificate without %s is accepted", field)
		}
	}
}

func TestColourChangesNothingElse(t *testing.T) {
	for name, r := range cases() {
		var plain, painted bytes.Buffer
		c := certify(r)
		if err := Summary(&plain, c, false); err != nil {
			t.Fatal(err)
		}
		if err := Summary(&painted, c, true); err != nil {
			t.Fatal(err)
		}
		text := painted.String()
		if !strings.Contains(text, "\x1b[") {
			t.Errorf("%s has no colour", name)
		}
		for _, code := range []string{"\x1b[0m", "\x1b[1;31m", "\x1b[1;32m", "\x1b[1;33m"} {
			text = strings.ReplaceAll(text, code, "")
		}
		if diff := cmp.Diff(plain.String(), text); diff != "" {
			t.Errorf("%s: colour changes the text:\n%s", name, diff)
		}
	}
}

// Names come from scripts and databases, and reports run long.
func TestSummaryOfAnythingFitsTheTerminal(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringN(0, 300, -1)
		number := rapid.Ptr(rapid.Float64Range(0, 1e9), true)
		c := certify(cases()["fail"])
		c.Profile = text.Draw(rt, "profile")
		for i := range rapid.IntRange(0, 30).Draw(rt, "slos") {
			s := c.SLOs[i%5]
			s.Metric, s.Observed, s.Verdict = text.Draw(rt, "metric"), number.Draw(rt, "observed"), "INCONCLUSIVE"
			c.SLOs = append(c.SLOs, s)
			c.Latency[text.Draw(rt, "endpoint")] = Latency{Percentiles: Percentiles{P50: number.Draw(rt, "p50")}, Max: number.Draw(rt, "max")}
			c.Waits = append(c.Waits, Wait{Event: text.Draw(rt, "event"), AAS: 1, Inferred: true})
		}
		var out bytes.Buffer
		if err := Summary(&out, c, false); err != nil {
			rt.Fatal(err)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if width(line) > columns {
				rt.Errorf("line is %d wide: %q", width(line), line)
			}
			if strings.ContainsAny(line, "\x1b\r\x00") {
				rt.Errorf("line steers the terminal: %q", line)
			}
		}
	})
}

func TestRoundingKeepsWhatMatters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v, limit := rapid.Float64().Draw(rt, "value"), rapid.Float64().Draw(rt, "limit")
		if short := digits(v); (short == 0) != (v == 0) || math.Abs(short-v) > math.Abs(v)*1e-5 {
			rt.Errorf("%g becomes %g", v, short)
		}
		short := *roundBeside(&v, limit)
		if (short < limit) != (v < limit) || (short > limit) != (v > limit) {
			rt.Errorf("%g becomes %g beside %g", v, short, limit)
		}
	})
	v := 0.0100000001
	if got := *roundBeside(&v, 0.01); got != v {
		t.Errorf("%v is shown as %v beside 0.01", v, got)
	}
	if round(nil) != nil || roundBeside(nil, 1) != nil {
		t.Error("no data becomes a number")
	}
}
