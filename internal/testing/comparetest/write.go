package comparetest

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"assay.dev/assay/internal/observe/record"
	"assay.dev/assay/internal/spec"
	"assay.dev/assay/internal/testing/synthetic"
)

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
