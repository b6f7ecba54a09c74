// A single-threaded writer, straight at the database.

import sql from 'k6/x/sql';
import driver from 'k6/x/sql/driver/mysql';
import { sleep } from 'k6';

if (!__ENV.ASSAY_DB) {
  throw new Error('ASSAY_DB is not set: give a DSN, as in ASSAY_DB="user:password@tcp(127.0.0.1:3306)/shop"; a profile says "needs": ["db"]');
}

// How long, in seconds, a connection stays open that nobody uses. Writers at
// work never rest so long.
const rest = 2;

// writer gives this VU the one connection that it has, opened at its first
// statement. Arguments are written into the statement: one round trip each.
export function writer() {
  const dsn = __ENV.ASSAY_DB;
  const separator = dsn.slice(dsn.lastIndexOf('/')).includes('?') ? '&' : '?';
  return sql.open(driver, `${dsn}${separator}interpolateParams=true`, {
    max_open_conns: 1,
    max_idle_conns: 1,
    conn_max_idle_time: `${rest}s`,
  });
}

// close ends teardown(): its own writer, and by waiting those of all other VUs
// of the process, which cannot be reached from here and close when they rest.
export function close(db) {
  db.close();
  sleep(2 * rest);
}
