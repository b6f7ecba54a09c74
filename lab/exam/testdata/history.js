// Reads random rows of a history that is larger than the buffer pool. One
// transaction: one SELECT of 20 rows by primary key, on the VU's single connection.

import { iteration } from '../../../scenarios/lib/identity.js';
import { integer, seededRandom } from '../../../scenarios/lib/random.js';
import { connect, database } from '../../../scenarios/lib/sql.js';

const db = connect(database());
const rows = 120000;

export default function () {
  const random = seededRandom(iteration());
  const ids = Array.from({ length: 20 }, () => integer(random, 1, rows));
  const found = db.query(`SELECT COUNT(note) AS n FROM history WHERE id IN (${ids.join(', ')})`);
  if (Number(found[0].n) === 0) {
    throw new Error('no history');
  }
}
