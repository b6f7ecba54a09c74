-- Like sample_mysql.sql, with two differences. A running statement has no digest on
-- MariaDB, so its text is returned. Which sessions wait for a row lock cannot be read ten
-- times per second: INNODB_TRX shows a snapshot that is renewed only if it has not been
-- read for 100 ms, so at this rate it would never change. Their number is exact, and is
-- the ninth column. It is read only if a session is in the handler, where sessions wait
-- for row locks, because it accounts for a quarter of the cost of a sample.
SELECT t.THREAD_ID, t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE, s.EVENT_NAME, s.SQL_TEXT,
       w.EVENT_ID, w.EVENT_NAME, w.TIMER_WAIT,
       CASE WHEN w.EVENT_NAME = 'wait/io/table/sql/handler' THEN
        (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS
         WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS') END,
       t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST, t.PROCESSLIST_DB
FROM performance_schema.threads t
LEFT JOIN performance_schema.events_statements_current s
  ON s.THREAD_ID = t.THREAD_ID AND s.END_EVENT_ID IS NULL AND s.NESTING_EVENT_LEVEL = 0
LEFT JOIN performance_schema.events_waits_current w
  ON w.THREAD_ID = t.THREAD_ID AND w.END_EVENT_ID IS NULL
WHERE t.TYPE = 'FOREGROUND' AND t.PROCESSLIST_ID <> CONNECTION_ID()
  AND t.PROCESSLIST_COMMAND NOT IN ('Sleep', 'Daemon', 'Binlog Dump', 'Binlog Dump GTID')
  AND t.NAME NOT LIKE 'thread/sql/slave%' AND t.NAME NOT LIKE 'thread/sql/replica%' AND t.NAME NOT LIKE 'thread/sql/rpl%'
