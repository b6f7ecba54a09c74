// Log writing by many single-threaded writers, straight at the database. One
// transaction: one row, by an auto-committed INSERT on the one connection of the
// VU: a commit for each row, which settings of durability make cheap or dear.
// The row is acknowledged once the database has said so.
//
// The table is writer_log of the reference service's schema.
//
// Environment: ASSAY_DB (DSN, required: a profile says "needs": ["db"]);
// ASSAY_RUN and ASSAY_SEED make identities unique and choices repeatable. Load,
// stages and thresholds are not the script's business.

import exec from 'k6/execution';
import { iteration, run, transaction } from './lib/identity.js';
import { ack } from './lib/ledger.js';
import { generator, integer } from './lib/random.js';
import { close, writer } from './lib/sql.js';

const db = writer();

export default function () {
  const id = transaction();
  const draw = generator(iteration());
  const message = `player ${integer(draw, 1, 1000000)} scored ${integer(draw, 0, 5000)} in room ${integer(draw, 1, 2000)}`;
  db.exec('INSERT INTO writer_log (id, run_id, writer, message) VALUES (?, ?, ?, ?)', id, run(), exec.vu.idInTest, message);
  ack(id);
}

export function teardown() {
  close(db);
}
