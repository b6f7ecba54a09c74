// Empty transactions, straight at the database. One transaction: BEGIN and
// COMMIT on the one connection of the VU, with nothing in between. What it costs
// is round trips: there is nothing to flush, so settings of durability make no
// difference.
//
// Environment: ASSAY_DB (DSN, required: a profile says "needs": ["db"]). Load,
// stages and thresholds are not the script's business.

import { close, writer } from './lib/sql.js';

const db = writer();

export default function () {
  db.exec('BEGIN');
  db.exec('COMMIT');
}

export function teardown() {
  close(db);
}
