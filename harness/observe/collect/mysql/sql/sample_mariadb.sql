-- As sample_mysql.sql, but for two gaps of MariaDB. A statement has no digest
-- while it runs: its text stands in. And who waits for a row lock cannot be
-- asked ten times a second: INNODB_TRX is a snapshot that is made anew only
-- when nobody has read it for 100 ms, so at this rate it stands still. The
-- number of the waiters is exact, and is the last column: where a session is
-- in the handler, in which row locks are waited for, so that it is not read for
-- nothing (it makes a quarter of what a sample costs).
SELECT t.THREAD_ID, t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE, s.EVENT_NAME, s.SQL_TEXT,
       w.EVENT_ID, w.EVENT_NAME, w.TIMER_WAIT,
       CASE WHEN w.EVENT_NAME = 'wait/io/table/sql/handler' THEN
        (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
         WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS') END
FROM performance_schema.threads t
LEFT JOIN performance_schema.events_statements_current s
  ON s.THREAD_ID = t.THREAD_ID AND s.END_EVENT_ID IS NULL AND s.NESTING_EVENT_LEVEL = 0
LEFT JOIN performance_schema.events_waits_current w
  ON w.THREAD_ID = t.THREAD_ID AND w.END_EVENT_ID IS NULL
WHERE t.TYPE = 'FOREGROUND' AND t.PROCESSLIST_ID <> CONNECTION_ID()
  AND t.PROCESSLIST_COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID')
  AND t.NAME NOT LIKE 'thread/sql/slave%' AND t.NAME NOT LIKE 'thread/sql/replica%' AND t.NAME NOT LIKE 'thread/sql/rpl%'
