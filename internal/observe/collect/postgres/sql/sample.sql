/* assay */
-- An active session that waits for its client (ClientRead) is really idle, but not marked
-- so yet.
SELECT coalesce(wait_event_type || ':' || wait_event, ''), coalesce(query_id, 0),
       coalesce(usename, ''), coalesce(host(client_addr), ''), coalesce(datname, ''), coalesce(application_name, '')
FROM pg_stat_activity
WHERE state IN ('active', 'fastpath function call') AND backend_type IN ('client backend', 'parallel worker')
  AND coalesce(wait_event_type || ':' || wait_event, '') <> 'Client:ClientRead'
  AND pid <> pg_backend_pid()
