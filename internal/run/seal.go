package run

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"assay.dev/assay/internal/hint"
	"assay.dev/assay/internal/observe/collect/databases"
)

// seal seals the record, and removes the run's rows and the workers.
func (d *drained) seal(ctx context.Context) error {
	err := cmp.Or(d.unwritten, d.err, d.in.writer.Seal(d.facts))
	_ = os.Remove(d.statePath()) // holds no secret, and is of no use any more
	// After the seal: it may take minutes to remove millions of rows or a cluster's workers,
	// or fail, and neither changes what was measured.
	if err := d.ledger.clean(ctx, d.ForceStop, d.step); err != nil {
		d.note("the run's rows were not all removed, which changes nothing in the record: " + databases.Reason(err) +
			"; remove them by the profile's ledger.cleanup, with the run " + d.ID)
	}
	if err := d.crew.remove(); err != nil {
		d.note("the workers could not be removed completely, which changes nothing in the record: " + withHint(err, "; %s"))
	}
	if err == nil {
		return nil
	}
	return hint.With(fmt.Errorf("the record could not be written: %w", err),
		fmt.Sprintf("free disk space and certify again; the record in %s is not sealed and proves nothing: remove it", d.Dir))
}
