// One connection per VU, directly to the database.

import sql from 'k6/x/sql';
import driver from 'k6/x/sql/driver/mysql';
import { sleep } from 'k6';

if (!__ENV.ASSAY_DB) {
  throw new Error('ASSAY_DB is not set: give a DSN, as in ASSAY_DB="user:password@tcp(127.0.0.1:3306)/shop"; the profile needs "needs": ["db"]');
}

// How long an idle connection stays open, s. Short, as close waits for it: a VU that
// was idle for longer connects again.
const maxIdle = 2;

// connect is this VU's single connection, opened at its first statement. Arguments
// are interpolated into the statement, so that it takes one round trip.
export function connect() {
  const dsn = __ENV.ASSAY_DB;
  const separator = dsn.slice(dsn.lastIndexOf('/')).includes('?') ? '&' : '?';
  return sql.open(driver, `${dsn}${separator}interpolateParams=true`, {
    max_open_conns: 1,
    max_idle_conns: 1,
    conn_max_idle_time: `${maxIdle}s`,
  });
}

// close is for teardown(): it closes its VU's connection, and waits until those of the
// process's other VUs, which it cannot reach, were closed as idle.
export function close(db) {
  db.close();
  sleep(2 * maxIdle);
}
