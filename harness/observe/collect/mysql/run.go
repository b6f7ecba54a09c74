package mysql

import (
	"context"
	"fmt"

	"assay/harness/observe/collect"
	"assay/harness/observe/collect/sampling"
	"assay/harness/observe/metric"
)

// othersEvery is the number of readings, one a second, after which other runs are
// looked for: no run is shorter than some 10 s.
const othersEvery = 5

// Run samples until ctx is done, as package sampling does.
func (c *Collector) Run(ctx context.Context, sink collect.Sink) error {
	w := &watched{c: c, statements: statements{names: map[string]statementName{}}, labels: sampling.Digests{}}
	return sampling.Run(ctx, w, sink)
}

// watched is the server during one Run.
type watched struct {
	c          *Collector
	status     status
	statements statements
	labels     sampling.Digests
	reads      int
}

func (w *watched) Connected() bool {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	return w.c.link.conn != nil
}

// Connect also switches on again what a restart of the server has switched off.
func (w *watched) Connect(ctx context.Context) error {
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

func (w *watched) Sample(ctx context.Context) ([]sampling.Session, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	found, err := w.c.sampler.take(ctx, w.c.link)
	if err != nil {
		return nil, fmt.Errorf("sample sessions: %w", err)
	}
	sessions := make([]sampling.Session, len(found))
	for i, a := range found {
		sessions[i] = a.seen()
		sessions[i].Digest = w.labels.Label(a.label())
	}
	return sessions, nil
}

// seen is the session as it is counted.
func (s session) seen() (seen sampling.Session) {
	seen.Event, seen.Class, seen.Inferred = classify(s)
	return seen
}

// label is the digest of the session's statement.
func (s active) label() string {
	switch {
	case !s.flavour.digestIsText:
		return s.digest
	case s.digest == "" && s.Statement == "statement/"+preparedExecute:
		return preparedExecute
	}
	return textDigest(s.digest)
}

func (w *watched) Read(ctx context.Context) ([]metric.Point, error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	values, err := w.c.readStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	all, restarted := w.status.points(values)
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
	points, err = w.c.readBlockers(ctx)
	all = append(all, points...)
	if err != nil {
		return all, fmt.Errorf("read who holds row locks: %w", err)
	}
	if w.reads++; w.reads%othersEvery == 0 {
		others, err := w.c.others(ctx)
		if err != nil {
			return all, fmt.Errorf("look for other runs: %w", err)
		}
		if others > 0 {
			w.c.notes.Add(sampling.SharedServer)
		}
	}
	return all, nil
}
