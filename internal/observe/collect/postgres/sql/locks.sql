/* assay */
-- The sessions that hold or wait for the two locks of which a row lock consists: the lock
-- of the transaction that changed the row, and the tuple lock that queues its waiters.
-- This reads the lock table once; pg_blocking_pids() would read it once per waiter.
SELECT l.pid, l.granted, concat_ws('.', l.transactionid, l.database, l.relation, l.page, l.tuple),
       coalesce(a.state, ''), coalesce(a.wait_event_type || ':' || a.wait_event, '')
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype IN ('transactionid', 'tuple')
