//go:build live

package ingestion

import (
	"strings"
	"testing"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/page"
	"assay.dev/assay/internal/series/search"
)

// The page names the part that limits the rate only where the CPU time shows it, and has no
// figure for what was not measured.
func TestPage(t *testing.T) {
	cpus := func(v float64) *float64 { return &v }
	full := &Use{Rate: 800, Generator: cpus(1.1), Service: cpus(0.3), Database: cpus(0.4), Host: cpus(1.9), CPUs: cpus(2)}
	idle := &Use{Rate: 800, Generator: cpus(0.1), Service: cpus(0.2), Database: cpus(0.3), Host: cpus(0.7), CPUs: cpus(2)}
	for name, c := range map[string]struct {
		d    Document
		want string
	}{
		"CPUs used up": {Document{Highest: &search.Document{}, Exceeded: full}, "used up, mostly by the generator, which limits the rate"},
		"other work": {
			Document{Highest: &search.Document{}, Exceeded: &Use{Rate: 800, Generator: cpus(0.5), Service: cpus(0.1), Database: cpus(0.1), Host: cpus(2), CPUs: cpus(2)}},
			"used up, mostly by other work, which limits the rate: measure again without it. Of the three parts, the generator uses most",
		},
		"bound":             {Document{Highest: &search.Document{}, Reached: full}, "takes 2250 µs of CPU time in the three parts together. With nothing else on the host, its CPUs would be used up at about 889/s"},
		"rate of the modes": {Document{Rate: 600, Highest: &search.Document{Lower: cpus(800)}, Reached: full}, "The modes run at 600/s, three quarters of the highest rate"},
		"nothing held":      {Document{Rate: 100, Highest: &search.Document{}}, "The modes run at 100/s, the lowest rate that was tried"},
		"CPUs left":         {Document{Highest: &search.Document{}, Exceeded: idle}, "not used up; of the three parts, the database uses most"},
		"nothing exceeded":  {Document{Highest: &search.Document{}, Reached: full}, "mostly by the generator"},
		"starved":           {Document{Highest: &search.Document{GeneratorAt: cpus(800)}, Exceeded: idle}, "did not offer more"},
		"not measured":      {Document{Highest: &search.Document{}, Exceeded: &Use{Rate: 800}}, "is not known"},
		"given":             {Document{Rate: 300}, "300/s, as given"},
		"a mode without data": {
			Document{Rate: 300, Modes: []Mode{{Name: "bulk", Certificate: certificate.Certificate{Verdict: "INVALID", Claim: "x"}}}},
			`| bulk | \- | \- | \- | \- | \- | \- | \- |`,
		},
		"a cause": {
			Document{Modes: []Mode{{Name: "bulk", Certificate: certificate.Certificate{Verdict: "FAIL", Claim: "it failed.", Bottleneck: &certificate.Bottleneck{Sentence: "The pool is too small."}}}}},
			"FAIL: it failed. The pool is too small.",
		},
		"errors": {
			Document{Modes: []Mode{{Name: "bulk", Certificate: certificate.Certificate{Errors: []certificate.Error{{Where: "service", Class: "too many connections", Count: 3}}}}}},
			"service: too many connections 3",
		},
	} {
		if text := string(page.Markdown(Page(c.d))); !strings.Contains(text, c.want) {
			t.Errorf("%s: the page does not say %q:\n%s", name, c.want, text)
		}
	}
}
