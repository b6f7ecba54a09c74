/* assay */
-- SCHEMA stands for the schema of the extension. The argument false leaves out the texts,
-- which are in a file. The time of statements within functions is part of the statements
-- that call them.
SELECT coalesce(queryid, 0), sum(calls)::bigint, sum(total_exec_time + total_plan_time)
FROM SCHEMA.pg_stat_statements(false)
WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
GROUP BY queryid
