// Empty transactions, sent directly to the database. One transaction: BEGIN and
// COMMIT on the VU's single connection, with nothing in between. They cost two
// round trips: as there is nothing to flush, durability settings make no difference.
//
// Environment: ASSAY_DB (DSN, required: the profile has "needs": ["db"]). Load,
// stages and thresholds belong to the profile.

import { connect, database } from './lib/sql.js';

const db = connect(database());

export default function () {
  db.transaction(() => {});
}
