package postgres

import (
	"context"
	_ "embed"
	"strconv"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/collect/sampling"
	"assay.dev/assay/internal/observe/wait"
)

//go:embed sql/sample.sql
var sampleSQL string

// cpuEvent is the event of a session without a wait event.
const cpuEvent = "cpu"

// classify returns the wait event of an active session, such as IO:WALSync, or, without
// one, CPU as inferred.
func classify(event string) sampling.Session {
	if event == "" {
		return sampling.Session{Event: cpuEvent, Class: wait.CPU, Inferred: true}
	}
	return sampling.Session{Event: event, Class: wait.ClassOf(wait.PostgreSQL, event)}
}

// sample returns the active sessions at this moment.
func (c *Collector) sample(ctx context.Context) ([]sampling.Session, error) {
	var sessions []sampling.Session
	waiters := 0
	err := c.link.query(ctx, sampleSQL, nil, func(rows pgx.Rows) error {
		var event string
		var id int64
		var by sampling.Client
		if err := rows.Scan(&event, &id, &by.User, &by.Host, &by.Schema, &by.Program); err != nil {
			return err
		}
		s := classify(event)
		s.Client = c.clients.Label(by)
		s.Digest = digest(id)
		if s.Class == wait.RowLock {
			waiters++
		}
		sessions = append(sessions, s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.waiters = waiters
	return sessions, nil
}

// digest returns the query id of a statement in the server's notation; empty: none.
func digest(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 10)
}
