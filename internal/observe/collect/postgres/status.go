package postgres

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"

	"assay.dev/assay/internal/observe/collect/sampling"
)

//go:embed sql/status.sql
var statusSQL string

// variables are columns of pg_stat_database, pg_stat_wal and pg_stat_bgwriter, and the
// numbers of sessions that status.sql counts in pg_stat_activity. They include the
// collector's own transactions, about 13 per second.
var variables = sampling.Variables{
	Counters: []string{
		// this database
		"blk_read_time", "blk_write_time", "blks_hit", "blks_read", "conflicts", "deadlocks",
		"active_time", "idle_in_transaction_time", "session_time",
		"sessions", "sessions_abandoned", "sessions_fatal", "sessions_killed",
		"temp_bytes", "temp_files",
		"tup_deleted", "tup_fetched", "tup_inserted", "tup_returned", "tup_updated",
		"xact_commit", "xact_rollback",
		// the write-ahead log
		"wal_buffers_full", "wal_bytes", "wal_fpi", "wal_records", "wal_sync", "wal_sync_time", "wal_write", "wal_write_time",
		// checkpoints and pages written
		"buffers_alloc", "buffers_backend", "buffers_backend_fsync", "buffers_checkpoint", "buffers_clean",
		"checkpoint_sync_time", "checkpoint_write_time", "checkpoints_req", "checkpoints_timed", "maxwritten_clean",
	},
	Gauges: []string{"connections", "idle_in_transaction", "numbackends", "waiting_for_locks"},
	Unit:   unitOf,
}

// activeTime is the time of all sessions in statements and commits.
const activeTime = "active_time"

func unitOf(name string) string {
	switch name {
	case "blk_read_time", "blk_write_time", activeTime, "idle_in_transaction_time", "session_time",
		"wal_sync_time", "wal_write_time", "checkpoint_sync_time", "checkpoint_write_time":
		return "ms"
	case "temp_bytes", "wal_bytes":
		return "By"
	}
	return ""
}

// reading is one reading of the server's views.
type reading struct {
	started float64            // start of the server, unix seconds; it changes with a restart
	values  map[string]float64 // all numeric columns, by name
}

// readStatus reads the views. It adds a note if another run uses the server.
func (c *Collector) readStatus(ctx context.Context) (reading, error) {
	r := reading{values: map[string]float64{}}
	err := c.link.query(ctx, statusSQL, []any{c.link.name}, func(rows pgx.Rows) error {
		var all map[string]any
		err := rows.Scan(&r.started, &all)
		for name, value := range all {
			if v, ok := value.(float64); ok {
				r.values[name] = v
			}
		}
		return err
	})
	if r.values["other_runs"] > 0 {
		c.notes.Add(sampling.SharedServer)
	}
	return r, err
}
