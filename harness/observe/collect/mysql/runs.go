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
	// placeLock is held by a run during its sessions, one of places of its kind.
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

// Kinds of runs.
const (
	// restorer is a run that may restore what runs have switched on: while one lasts, nobody
	// else does.
	restorer = "run"
	// guest is a run that may not. Others do not leave anything on for it.
	guest = "guest"
)

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

// join makes this session one of a run of this kind, unless it is already.
func (l *link) join(ctx context.Context, kind string) error {
	if l.place != "" {
		return nil
	}
	for i := range places {
		name := fmt.Sprintf(placeLock, kind, i)
		got, err := l.tryLock(ctx, name)
		if err != nil {
			return err
		}
		if got {
			l.place = name
			return nil
		}
	}
	slog.Debug("database collector is not seen by other runs: all places are taken")
	return nil
}

// leave undoes join.
func (l *link) leave(ctx context.Context) {
	if l.place != "" {
		l.release(ctx, l.place)
		l.place = ""
	}
}

// others counts the other runs of these kinds on the server.
func (l *link) others(ctx context.Context, kinds ...string) (n int, err error) {
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
		for _, holder := range strings.Fields(all) {
			if !slices.Contains([]string{session, own}, holder) {
				n++
			}
		}
		return err
	})
	if refused(err) { // as tryLock
		return 0, nil
	}
	return n, err
}

// othersStay counts the other runs of these kinds. It waits for sessions that are just
// ending.
func (l *link) othersStay(ctx context.Context, kinds ...string) (int, error) {
	for deadline := time.Now().Add(endingTimeout); ; time.Sleep(retryInterval) {
		if n, err := l.others(ctx, kinds...); err != nil || n == 0 || time.Now().After(deadline) {
			return n, err
		}
	}
}
