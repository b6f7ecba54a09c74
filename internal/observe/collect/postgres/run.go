package postgres

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
)

// Run samples until ctx is done. See sampling.Run.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	w := &sampledServer{
		c: c, labels: sampling.Digests{},
		statements: statements{names: map[string]statementName{}, first: map[[sha256.Size]byte]string{}, ownIDs: map[int64]bool{}},
	}
	return sampling.Run(ctx, w, sink)
}

// sampledServer is the server during one Run.
type sampledServer struct {
	c          *Collector
	status     sampling.Status
	last       reading
	statements statements
	labels     sampling.Digests
}

func (w *sampledServer) Connected() bool {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	return w.c.link.conn != nil
}

func (w *sampledServer) Connect(ctx context.Context) error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if err := w.c.connect(ctx); err != nil {
		return fmt.Errorf("reconnect: %w", err)
	}
	return nil
}

func (w *sampledServer) Sample(ctx context.Context) ([]sampling.Session, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	sessions, err := w.c.sample(ctx)
	if err != nil {
		return nil, fmt.Errorf("sample sessions: %w", err)
	}
	for i := range sessions {
		d := sessions[i].Digest
		sessions[i].Digest = w.labels.Label(cmp.Or(w.statements.names[d].digest, d))
	}
	return sessions, nil
}

func (w *sampledServer) Read(ctx context.Context) ([]metric.Point, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	now, err := w.c.readStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	active := 0.0 // since the last reading, in ms
	restarted := w.last.values != nil && now.started != w.last.started
	switch {
	case restarted:
		w.statements.restart()
	case w.last.values != nil:
		active = max(0, now.values[activeTime]-w.last.values[activeTime])
	}
	first := w.last.values == nil
	w.last = now
	all := w.status.Points(variables, now.values, restarted)
	changed, err := w.c.readStatements(ctx, &w.statements)
	if err != nil {
		return all, fmt.Errorf("read statement times: %w", err)
	}
	points, err := w.c.statementPoints(ctx, &w.statements, changed, active, w.labels)
	all = append(all, points...)
	if err != nil {
		return all, fmt.Errorf("read statement texts: %w", err)
	}
	if first {
		w.statements.remainder = remainder{} // time from before the run
	}
	points, err = w.c.readBlockers(ctx)
	all = append(all, points...)
	if err != nil {
		return all, fmt.Errorf("read the holders of row locks: %w", err)
	}
	return all, nil
}
