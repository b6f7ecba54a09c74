/* assay */
-- Columns of this database and of the whole server, as JSON: columns that the version of
-- the server lacks are simply missing.
SELECT extract(epoch FROM pg_postmaster_start_time())::float8,
       to_jsonb(d) || to_jsonb(w) || to_jsonb(b) || to_jsonb(a)
FROM pg_stat_database d, pg_stat_wal w, pg_stat_bgwriter b,
     (SELECT count(*) FILTER (WHERE datid IS NOT NULL) AS connections,
             count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS idle_in_transaction,
             count(*) FILTER (WHERE wait_event_type = 'Lock') AS waiting_for_locks,
             count(*) FILTER (WHERE application_name LIKE 'assay run %' AND application_name <> $1) AS other_runs
      FROM pg_stat_activity) a
WHERE d.datname = current_database()
