// Log rows from many single-threaded writers, sent directly to the database. One
// transaction: one auto-committed INSERT on the VU's single connection, hence one
// commit per row, whose cost depends on the durability settings. The row is
// acknowledged when the statement has succeeded.
//
// The table is writer_log of the reference service's schema.
//
// Environment: ASSAY_DB (DSN, required: the profile has "needs": ["db"]), or with SQL_NODE
// (the profile's "env") the DSN of that name in ASSAY_DB_NODES ("needs": ["db_nodes"]);
// ASSAY_RUN and ASSAY_SEED make identities unique and random choices repeatable.
// Load, stages and thresholds belong to the profile.

import exec from 'k6/execution';
import { iteration, run, transaction } from './lib/identity.js';
import { ack } from './lib/ledger.js';
import { integer, seededRandom } from './lib/random.js';
import { connect, database, node } from './lib/sql.js';

const db = connect(__ENV.SQL_NODE ? node(__ENV.SQL_NODE) : database());

export default function () {
  const id = transaction();
  const random = seededRandom(iteration());
  const message = `player ${integer(random, 1, 1000000)} scored ${integer(random, 0, 5000)} in room ${integer(random, 1, 2000)}`;
  db.exec('INSERT INTO writer_log (id, run_id, writer, message) VALUES (?, ?, ?, ?)', id, run(), exec.vu.idInTest, message);
  ack(id);
}
