-- sample_mysql.sql without row locks: data_lock_waits has one row per pair of waiter and
-- blocker, so with one hot row its size is the square of the number of sessions (200
-- sessions: 6 ms for this table alone).
SELECT t.THREAD_ID, t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE, s.EVENT_NAME, LEFT(s.DIGEST, 16),
       w.EVENT_ID, w.EVENT_NAME, w.TIMER_WAIT, 0,
       t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST, t.PROCESSLIST_DB
FROM performance_schema.threads t
LEFT JOIN performance_schema.events_statements_current s
  ON s.THREAD_ID = t.THREAD_ID AND s.END_EVENT_ID IS NULL AND s.NESTING_EVENT_LEVEL = 0
LEFT JOIN performance_schema.events_waits_current w
  ON w.THREAD_ID = t.THREAD_ID AND w.END_EVENT_ID IS NULL
WHERE t.TYPE = 'FOREGROUND' AND t.PROCESSLIST_ID <> CONNECTION_ID()
  AND t.PROCESSLIST_COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID')
  AND t.NAME NOT LIKE 'thread/sql/slave%' AND t.NAME NOT LIKE 'thread/sql/replica%' AND t.NAME NOT LIKE 'thread/sql/rpl%'
