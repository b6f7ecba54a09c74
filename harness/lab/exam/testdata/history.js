// Reads at random from a history that is larger than what is cached. One
// transaction: 20 rows by their primary key, by one SELECT on the one connection
// of the VU.

import { iteration } from '../../../../scenarios/lib/identity.js';
import { generator, integer } from '../../../../scenarios/lib/random.js';
import { writer } from '../../../../scenarios/lib/sql.js';

const db = writer();
const rows = 120000;

export default function () {
  const draw = generator(iteration());
  const ids = Array.from({ length: 20 }, () => integer(draw, 1, rows));
  const found = db.query(`SELECT COUNT(note) AS n FROM history WHERE id IN (${ids.join(', ')})`);
  if (Number(found[0].n) === 0) {
    throw new Error('no history');
  }
}
