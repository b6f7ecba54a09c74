package report

import (
	"encoding/xml"
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/testing/synthetic"
)

// abortedBy is the certificate of a run that a condition stopped after ten judged seconds, or
// after its judged windows.
func abortedBy(a record.Abort, late bool) certificate.Certificate {
	c := synthetic.New(synthetic.Profile(), 2, synthetic.Healthy)
	a.From, a.To = synthetic.T0.Unix()+23, synthetic.T0.Unix()+26
	if late {
		a.From, a.To = a.From+100, a.To+100
	}
	for i, v := range []float64{0.31, 0.52, 0.4} {
		a.Observed = append(a.Observed, record.Reading{Second: a.From + int64(i), Value: v})
	}
	c.Run.Facts.Aborted, c.Run.Facts.Stopped = &a, "aborted "+a.String()
	return build.Of(c.Record())
}

// aborted are the certificates of runs that a condition stopped.
func aborted() map[string]certificate.Certificate {
	orders := record.Abort{Metric: "orders", Expression: "rate>0.05 for 3s", Limit: 0.05, Unit: "share", Protects: "the neighbour orders"}
	load := record.Abort{Metric: "http_req_failed", Expression: "rate>0.3 for 3s", Limit: 0.3, Occurred: 40, Total: 100}
	return map[string]certificate.Certificate{
		"a neighbour": abortedBy(orders, false), "a neighbour, late": abortedBy(orders, true), "a rate of the load": abortedBy(load, false),
	}
}

// Every page shows the condition that stopped the run, whom it protects and what was read, and
// whether it is an SLO. The certificate is valid by its schema.
func TestAborted(t *testing.T) {
	certificates := aborted()
	for name, c := range map[string]struct {
		words    []string
		suite    string // JUnit suite of the condition; empty: none
		failures int
	}{
		"a neighbour": {
			[]string{
				"orders rate>0.05 for 3s", "the neighbour orders", "31 % to 52 %", "5 %",
				"it is not an SLO of the system under test. It held before what the SLOs judge had ended",
			}, "abort", 1,
		},
		"a neighbour, late": {[]string{"31 % to 52 %", "does not change the verdict"}, "abort", 0},
		"a rate of the load": {
			[]string{"http_req_failed rate>0.3 for 3s", "the target", "31 % to 52 %", "it is judged like an SLO"}, "", 0,
		},
	} {
		stopped := certificates[name]
		data, err := certificate.Marshal(stopped)
		if err == nil {
			_, err = certificate.Parse(data)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for of, p := range map[string]page.Page{"summary": Summary(stopped), "report": Report(stopped, ""), "full": Full(stopped, Timeline{}, "")} {
			text := strings.ReplaceAll(string(page.Markdown(p)), `\`, "")
			for _, word := range c.words {
				if !strings.Contains(text, word) {
					t.Errorf("%s: the %s has no %q", name, of, word)
				}
			}
		}
		report := junit(t, stopped)
		var read struct {
			Suites []struct {
				Name     string `xml:"name,attr"`
				Failures int    `xml:"failures,attr"`
				Output   string `xml:"system-out"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal(report, &read); err != nil {
			t.Fatal(err)
		}
		last := read.Suites[len(read.Suites)-1]
		if (last.Name == "abort") != (c.suite != "") || c.suite != "" && (last.Failures != c.failures || !strings.Contains(last.Output, "not an SLO")) {
			t.Errorf("%s: the last suite is %+v", name, last)
		}
	}
	if blocks := abort(example("fail")); blocks != nil {
		t.Errorf("a run that nothing aborted: %v", blocks)
	}
}
