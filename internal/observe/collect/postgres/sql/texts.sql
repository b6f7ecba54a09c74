/* assay */
SELECT queryid, min(query)
FROM SCHEMA.pg_stat_statements(true)
WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database()) AND queryid = ANY($1)
GROUP BY queryid
