/* assay */
-- What this user may see in this database, and what the server records.
SELECT quote_ident(current_user), quote_ident(current_database()),
       pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
       (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usesysid IS NOT NULL AND query = '<insufficient privilege>'),
       (SELECT query_id IS NOT NULL FROM pg_stat_activity WHERE pid = pg_backend_pid()),
       current_setting('track_activities')::boolean,
       current_setting('track_io_timing')::boolean,
       coalesce(current_setting('pg_stat_statements.track', true), ''),
       coalesce((SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'), ''),
       coalesce((SELECT extversion FROM pg_extension WHERE extname = 'pg_stat_statements'), '')
