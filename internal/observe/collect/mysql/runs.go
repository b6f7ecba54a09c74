package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Runs on one server know of each other by its user-level locks (GET_LOCK), which need no
// privilege to take or to see, and which the server releases when the session ends: when
// the process is killed, too.

const (
	// setupLock serialises the changes of setup tables: of two runs that end at the same time
	// the second restores what is left, and none switches off what another has just found
	// on.
	setupLock = "assay setup"
	// ownLock is held by all sessions of one collector in turn.
	ownLock = "assay collector "
	// placeLock is held by a run during its sessions, one of places of each kind.
	placeLock = "assay %s %d"
	places    = 32

	// lockTimeout is longer than several collectors in turn need. After it the collector
	// continues without the lock.
	lockTimeout   = 12 * time.Second
	retryInterval = 20 * time.Millisecond
	// endingTimeout is how long a session may stay visible after its client has closed
	// it.
	endingTimeout = time.Second
)

// A run holds a place of the kind of each setup table that it may restore: while one is held,
// nobody else restores that table.
const (
	// guest is the kind of a run that may restore none. Others do not leave anything on for it.
	guest = "guest"
	// ending is the kind of a run that has given up its other places, and restores what is on.
	ending = "ending run"
)

// kinds are those of all runs that last.
func (f *flavour) kinds() []string {
	all := []string{guest}
	for _, s := range f.setups {
		all = append(all, s.table)
	}
	return all
}

// lock acquires the setup lock.
func (l *link) lock(ctx context.Context) {
	for deadline := time.Now().Add(lockTimeout); ; {
		got, err := l.tryLock(ctx, setupLock)
		if got {
			return
		}
		if err != nil || time.Now().After(deadline) {
			slog.Debug("database collector continues without the setup lock", "err", err)
			return
		}
		time.Sleep(retryInterval)
	}
}

// unlock releases the setup lock.
func (l *link) unlock(ctx context.Context) { l.release(ctx, setupLock) }

// tryLock reports whether this session holds the lock now. On a server that refuses locks
// altogether, such as Percona XtraDB Cluster in its strict mode, every run is as if alone.
func (l *link) tryLock(ctx context.Context, name string) (bool, error) {
	var got sql.NullInt64
	err := l.query(ctx, "SELECT GET_LOCK(?, 0)", []any{name}, func(rows *sql.Rows) error { return rows.Scan(&got) })
	if refused(err) {
		slog.Debug("database collector takes no lock", "err", err)
		return true, nil
	}
	return got.Int64 == 1, err
}

func (l *link) release(ctx context.Context, name string) {
	_ = l.exec(ctx, "DO RELEASE_LOCK(?)", name) // a lost session holds no lock
}

// join takes a place of this kind, unless this session has one.
func (l *link) join(ctx context.Context, kind string) error {
	if l.places[kind] != "" {
		return nil
	}
	for i := range places {
		name := fmt.Sprintf(placeLock, kind, i)
		got, err := l.tryLock(ctx, name)
		if err != nil {
			return err
		}
		if got {
			l.places[kind] = name
			return nil
		}
	}
	slog.Debug("database collector is not seen by other runs: all places are taken", "kind", kind)
	return nil
}

// leave gives up all places, for one of a run that ends.
func (l *link) leave(ctx context.Context) error {
	err := l.join(ctx, ending)
	for kind, name := range l.places {
		if kind != ending {
			l.release(ctx, name)
			delete(l.places, kind)
		}
	}
	return err
}

// others reports whether another run on the server has a place of these kinds.
func (l *link) others(ctx context.Context, kinds ...string) (found bool, err error) {
	var holders []string
	for _, kind := range kinds {
		for i := range places {
			holders = append(holders, "IS_USED_LOCK("+quote(fmt.Sprintf(placeLock, kind, i))+")")
		}
	}
	// A session that this collector has lost may not have ended yet.
	statement := "SELECT CONNECTION_ID(), COALESCE(IS_USED_LOCK(?), ''), CONCAT_WS(' ', " + strings.Join(holders, ", ") + ")"
	err = l.query(ctx, statement, []any{ownLock + l.id}, func(rows *sql.Rows) error {
		var session, own, all string
		err := rows.Scan(&session, &own, &all)
		found = slices.ContainsFunc(strings.Fields(all), func(holder string) bool { return holder != session && holder != own })
		return err
	})
	if refused(err) { // as tryLock
		return false, nil
	}
	return found, err
}

// othersStay is others, once sessions that are just ending have ended.
func (l *link) othersStay(ctx context.Context, kinds ...string) (bool, error) {
	for deadline := time.Now().Add(endingTimeout); ; time.Sleep(retryInterval) {
		if found, err := l.others(ctx, kinds...); err != nil || !found || time.Now().After(deadline) {
			return found, err
		}
	}
}
