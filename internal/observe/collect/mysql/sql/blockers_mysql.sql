-- One row per wait in progress of each session that blocks others on a row lock and does
-- not wait for a row lock itself. Column N is the number of sessions it blocks.
SELECT b.T, t.PROCESSLIST_COMMAND, t.PROCESSLIST_STATE, s.EVENT_NAME, w.EVENT_ID, w.EVENT_NAME, b.N,
       t.PROCESSLIST_ID, t.PROCESSLIST_USER, t.PROCESSLIST_HOST, t.PROCESSLIST_DB
FROM (SELECT BLOCKING_THREAD_ID T, COUNT(DISTINCT REQUESTING_THREAD_ID) N FROM performance_schema.data_lock_waits
      WHERE BLOCKING_THREAD_ID NOT IN (SELECT REQUESTING_THREAD_ID FROM performance_schema.data_lock_waits)
      GROUP BY BLOCKING_THREAD_ID) b
JOIN performance_schema.threads t ON t.THREAD_ID = b.T
LEFT JOIN performance_schema.events_statements_current s
  ON s.THREAD_ID = t.THREAD_ID AND s.END_EVENT_ID IS NULL AND s.NESTING_EVENT_LEVEL = 0
LEFT JOIN performance_schema.events_waits_current w
  ON w.THREAD_ID = t.THREAD_ID AND w.END_EVENT_ID IS NULL
