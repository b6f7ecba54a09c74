/* assay */
-- SCHEMA is the extension's. Without the texts, which lie in a file; statements
-- within functions are part of those that call them.
SELECT coalesce(queryid, 0), sum(calls)::bigint, sum(total_exec_time + total_plan_time)
FROM SCHEMA.pg_stat_statements(false)
WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
GROUP BY queryid
