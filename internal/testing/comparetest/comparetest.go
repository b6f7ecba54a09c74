package comparetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"assay.dev/assay/certificate"
	"assay.dev/assay/internal/judge/certificate/build"
	"assay.dev/assay/internal/judge/compare"
	"assay.dev/assay/internal/judge/verdict"
	"assay.dev/assay/internal/observe/metric"
	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

// spacing is the time between the starts of successive runs.
const spacing = 2 * time.Minute

// Groups makes runs in an order like "ABBA", one after the other. Latencies of B are
// those of A times the factor; each run differs by up to 1 %, as real runs do.
func Groups(order string, factor float64) (a, b compare.Group) {
	a.Name, b.Name = "runs/a", "runs/b"
	for i, scale := range scales(order, factor) {
		group := &a
		if order[i] == 'B' {
			group = &b
		}
		c := certify(scale)
		c.Run = fmt.Sprintf("20261120-synthetic-%02d", i)
		c.Window.Start, c.Window.End = c.Window.Start.Add(time.Duration(i)*spacing), c.Window.End.Add(time.Duration(i)*spacing)
		c.Evidence.ManifestSHA256 = fmt.Sprintf("%064x", i)
		group.Runs = append(group.Runs, compare.Run{Folder: fmt.Sprintf("%s/%02d", group.Name, i), Certificate: c})
	}
	return a, b
}

// scales are the latency factors of each run.
func scales(order string, factor float64) (all []float64) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, letter := range order {
		scale := 0.99 + 0.02*random.Float64()
		if letter == 'B' {
			scale *= factor
		}
		all = append(all, scale)
	}
	return all
}

// certify is the certificate of a run; it always passes, as these tests are not about
// verdicts.
func certify(scale float64) (c certificate.Certificate) {
	if err := json.Unmarshal(certified(scale), &c); err != nil {
		panic(err) // it was written by certificate.Marshal
	}
	c.Verdict = verdict.Pass.String()
	for i := range c.Rules {
		c.Rules[i].Verdict = verdict.Pass.String()
	}
	return c
}

// certificates are those of runs that were simulated before, as files, by the factor of
// their latencies: most groups begin with the same runs.
var certificates sync.Map

func certified(scale float64) []byte {
	if data, ok := certificates.Load(scale); ok {
		return data.([]byte)
	}
	data, err := certificate.Marshal(build.Of(synthetic.New(synthetic.Profile(), 1, system(scale)).Record()))
	if err != nil {
		panic(err) // a certificate that is always the same
	}
	certificates.Store(scale, data)
	return data
}

func system(scale float64) synthetic.System {
	return func(n int64) (float64, string) { return scale * (20 + float64(n*37%100)), metric.Completed }
}

// Write seals the records of the runs that Groups makes, in dir/A and dir/B. They have no
// ledger.
func Write(dir, order string, factor float64) error {
	p := synthetic.Profile()
	p.Flows[0].Ledger = nil
	p.Flows[0].SLOs = slices.DeleteFunc(p.Flows[0].SLOs, func(s spec.SLO) bool { return s.Kind() != spec.KindSamples })
	for i, scale := range scales(order, factor) {
		c := synthetic.New(p, 1, system(scale))
		c.Run.Plan.Run = fmt.Sprintf("20261120-synthetic-%02d", i)
		c.Run.Facts.Ledger = record.LedgerFact{State: record.StateAbsent}
		if err := seal(filepath.Join(dir, order[i:i+1], fmt.Sprintf("%02d", i)), c, time.Duration(i)*spacing); err != nil {
			return err
		}
	}
	return nil
}

// seal writes the record of one run, shifted to a later time.
func seal(dir string, c *synthetic.Case, later time.Duration) error {
	w, err := c.Create(dir)
	if err != nil {
		return err
	}
	if err := w.Environment(c.Run.Environment); err != nil {
		return err
	}
	for _, f := range c.Frames {
		f.Second += int64(later / time.Second)
		if err := w.Frame(f); err != nil {
			return err
		}
	}
	f := c.Run.Facts
	f.T0, f.Ended, f.Issued = f.T0.Add(later), f.Ended.Add(later), f.Issued.Add(later)
	return w.Seal(f)
}
