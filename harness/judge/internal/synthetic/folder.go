package synthetic

import (
	"cmp"
	"fmt"

	"assay/harness/observe/ledger"
	"assay/harness/observe/record"
)

// Seal writes the run into a folder, like a real run.
func (c *Case) Seal(dir string) error {
	w, err := record.Create(dir, c.Run.Plan)
	if err != nil {
		return err
	}
	for _, f := range c.Frames {
		if err := w.Frame(f); err != nil {
			return err
		}
	}
	var acks, rows []ledger.Entry
	for i := range c.Run.Ledger.Acknowledged {
		at := T0.UnixMilli() + i
		hash := ledger.HashOf(c.Run.Plan.Run, fmt.Sprint(i))
		acks, rows = append(acks, ledger.Entry{Hash: hash, Millis: at}), append(rows, ledger.Entry{Hash: hash, Millis: at + i%100})
	}
	persisted := func(add func(ledger.Entry) error) error {
		for _, e := range rows {
			if err := add(e); err != nil {
				return err
			}
		}
		return nil
	}
	return cmp.Or(w.Acknowledged("worker/0", 1, acks), w.Persisted(persisted), w.Environment(c.Run.Environment), w.Seal(c.Run.Facts))
}
