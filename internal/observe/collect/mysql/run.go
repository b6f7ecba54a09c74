package mysql

import (
	"context"
	"fmt"

	"assay.dev/assay/internal/observe/collect"
	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/metric"
)

// otherRunsEvery is the number of readings, one per second, between checks for other
// runs. No run is shorter than about 10 s.
const otherRunsEvery = 5

// Run samples until ctx is done. See sampling.Run.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	w := &sampledServer{c: c, statements: statements{names: map[string]statementName{}}, labels: sampling.Digests{}}
	return sampling.Run(ctx, w, sink)
}

// sampledServer is the server during one Run.
type sampledServer struct {
	c          *Collector
	status     status
	statements statements
	labels     sampling.Digests
	clients    clients
	reads      int
}

func (w *sampledServer) Connected() bool {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	return w.c.link.conn != nil
}

// Connect also enables again the instruments that a restart of the server has disabled.
func (w *sampledServer) Connect(ctx context.Context) error {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	err := w.c.connect(ctx)
	if err == nil {
		err = w.c.instrument(ctx)
	}
	if err != nil {
		w.c.link.drop()
		return fmt.Errorf("reconnect: %w", err)
	}
	return nil
}

func (w *sampledServer) Sample(ctx context.Context) ([]sampling.Session, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	found, err := w.c.sampler.take(ctx, w.c.link)
	if err != nil {
		return nil, fmt.Errorf("sample sessions: %w", err)
	}
	sessions, owners := make([]sampling.Session, len(found)), make([]owner, len(found))
	for i, a := range found {
		owners[i] = a.owner
	}
	clients := w.clients.name(ctx, w.c.link, owners)
	for i, a := range found {
		sessions[i] = a.activity()
		sessions[i].Client = clients[i]
		sessions[i].Digest = w.labels.Label(a.digestLabel())
	}
	return sessions, nil
}

// digestLabel returns the digest of the session's statement.
func (s active) digestLabel() string {
	switch {
	case !s.flavour.digestIsText:
		return s.digest
	case s.digest == "" && s.Statement == "statement/"+preparedExecute:
		return preparedExecute
	}
	return textDigest(s.digest)
}

func (w *sampledServer) Read(ctx context.Context) ([]metric.Point, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	values, err := w.c.readStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	all, restarted := w.status.points(values)
	all = append(all, w.c.link.roundTrip(ctx)...)
	if restarted {
		w.statements.restart()
	}
	changed, err := w.c.readStatements(ctx, &w.statements)
	if err != nil {
		return all, fmt.Errorf("read statement times: %w", err)
	}
	points, err := w.c.statementPoints(ctx, &w.statements, changed, w.labels)
	all = append(all, points...)
	if err != nil {
		return all, fmt.Errorf("read statement texts: %w", err)
	}
	points, err = w.c.readBlockers(ctx, &w.clients)
	all = append(all, points...)
	if err != nil {
		return all, fmt.Errorf("read the holders of row locks: %w", err)
	}
	if w.reads++; w.reads%otherRunsEvery == 0 {
		others, err := w.c.link.others(ctx, w.c.link.flavour.kinds()...)
		if err != nil {
			return all, fmt.Errorf("check for other runs: %w", err)
		}
		if others {
			w.c.notes.Add(sampling.SharedServer)
		}
	}
	return all, nil
}
