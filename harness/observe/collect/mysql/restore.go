package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// restorePatience bounds the restore, with a reconnect if it needs one.
const restorePatience = 5 * time.Second

// restore puts back what switchOn changed; alone, with other collectors kept
// out, it leaves to other runs what they will restore.
func (c *Collector) restore(alone bool) error {
	if c.switched.empty() {
		return c.journal.end()
	}
	// Of its own: the run's context is done by now.
	ctx, cancel := context.WithTimeout(context.Background(), restorePatience)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		if err = c.restoreOnce(ctx, alone); err == nil {
			c.switched = switches{}
			return c.journal.end()
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return fmt.Errorf("restore the instruments of the database: %w; a restart of the server does it too, or run: %s;", err, strings.Join(c.switched.undo(), "; "))
}

func (c *Collector) restoreOnce(ctx context.Context, alone bool) error {
	var err error
	if err = c.link.open(ctx); err != nil {
		return err
	}
	mine := &c.switched
	if alone {
		// What other runs have promised to restore they still need. Where others
		// may end at this very moment each would leave it to the other.
		mine = mine.without(c.promised(ctx))
	}
	for _, statement := range mine.undo() {
		err = errors.Join(err, c.link.exec(ctx, statement))
	}
	return err
}

// undo is the SQL that restores, one statement for each former state.
func (s *switches) undo() (statements []string) {
	byState := map[[2]string][]string{}
	for _, i := range s.instruments {
		state := [2]string{i.enabled, i.timed}
		byState[state] = append(byState[state], i.name)
	}
	for state, names := range byState {
		slices.Sort(names)
		statements = append(statements, fmt.Sprintf("UPDATE performance_schema.setup_instruments SET ENABLED = %s, TIMED = %s WHERE NAME IN %s",
			quote(state[0]), quote(state[1]), list(names)))
	}
	slices.Sort(statements)
	if len(s.consumers) > 0 {
		statements = append(statements, "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME IN "+list(s.consumers))
	}
	return statements
}
