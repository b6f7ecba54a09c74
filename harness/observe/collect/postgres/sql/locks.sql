/* assay */
-- Who holds or waits for the locks that make a row lock: that of the transaction
-- which changed the row, and a place in the queue for it. One look at the lock
-- table, where pg_blocking_pids() takes one for each waiter.
SELECT l.pid, l.granted, concat_ws('.', l.transactionid, l.database, l.relation, l.page, l.tuple),
       coalesce(a.state, ''), coalesce(a.wait_event_type || ':' || a.wait_event, '')
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype IN ('transactionid', 'tuple')
