// The transactions of scenarios/tpcc.js, but for statements that are left out: those that match
// SKIPPED.
import { connect, database } from '../../../scenarios/lib/sql.js';
import { iteration, transaction } from '../../../scenarios/lib/identity.js';
import { seededRandom } from '../../../scenarios/lib/random.js';
import { scaleOf, transact } from '../../../scenarios/lib/tpcc.js';

const db = connect(database(), { schema: 'tpcc' });

const forgetful = {
  transaction: (work) => db.transaction((c) => work({
    query: (...args) => c.query(...args),
    exec: (statement, ...args) => (new RegExp(__ENV.SKIPPED).test(statement) ? {} : c.exec(statement, ...args)),
  })),
};

export function setup() {
  return scaleOf(db, 'tpcc');
}

export default function (scale) {
  transact(forgetful, scale, seededRandom(iteration()), transaction());
}
