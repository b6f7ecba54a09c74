-- Like blockers_mysql.sql. The InnoDB tables show a snapshot that is renewed only if it
-- has not been read for 100 ms; with one reading per second it is always a new one.
SELECT t.THREAD_ID, t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE, s.EVENT_NAME, w.EVENT_ID, w.EVENT_NAME, b.N,
       t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST, t.PROCESSLIST_DB
FROM (SELECT x.trx_mysql_thread_id P, COUNT(DISTINCT l.requesting_trx_id) N
      FROM information_schema.INNODB_LOCK_WAITS l
      JOIN information_schema.INNODB_TRX x ON x.trx_id = l.blocking_trx_id
      WHERE x.trx_state <> 'LOCK WAIT'
      GROUP BY x.trx_mysql_thread_id) b
JOIN performance_schema.threads t ON t.PROCESSLIST_ID = b.P
LEFT JOIN performance_schema.events_statements_current s
  ON s.THREAD_ID = t.THREAD_ID AND s.END_EVENT_ID IS NULL AND s.NESTING_EVENT_LEVEL = 0
LEFT JOIN performance_schema.events_waits_current w
  ON w.THREAD_ID = t.THREAD_ID AND w.END_EVENT_ID IS NULL
