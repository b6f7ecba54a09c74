// TPC-C-like, unaudited: one transaction is one of TPC-C's five, in their mix (New-Order
// 45 %, Payment 43 %, Order-Status, Delivery and Stock-Level 4 % each), without keying and
// think time. One that is rolled back for a conflict is sent again, at most ten times.
// Each committed one that has written is acknowledged, with the identity that it left in
// tpcc_ledger. Load the tables first: assay-lab tpcc load --warehouses N.
//
// Environment: ASSAY_DB (DSN, required: the profile has "needs": ["db"]; its schema is not
// used). TPCC_TARGETS (the profile's "env"), separated by spaces, names the schemas, each
// with the node of ASSAY_DB_NODES that it is used through ("needs": ["db", "db_nodes"]):
//
//   "tpcc" (default)       one schema, through ASSAY_DB
//   "a/tpcc b/tpcc2"       both writers, separate schemas
//   "a/tpcc b/tpcc"        both writers, the same schema
//
// With several, TPCC_SPREAD says how transactions are spread: "iteration" (default), in
// turn, so that each gets the same share; or "vu", where VU n always uses the n-th.
// ASSAY_RUN and ASSAY_SEED make identities unique and random choices repeatable. Load,
// stages and thresholds belong to the profile.

import exec from 'k6/execution';
import { iteration, transaction } from './lib/identity.js';
import { seededRandom } from './lib/random.js';
import { connect, database, node } from './lib/sql.js';
import { scaleOf, transact } from './lib/tpcc.js';

const spread = __ENV.TPCC_SPREAD || 'iteration';
if (!['iteration', 'vu'].includes(spread)) {
  throw new Error(`TPCC_SPREAD is ${spread}: it must be iteration or vu`);
}

const targets = (__ENV.TPCC_TARGETS || 'tpcc').trim().split(/\s+/).map((text) => {
  const [schema, name] = text.split('/').reverse();
  return { schema, db: connect(name ? node(name) : database(), { schema, tags: { target: text } }) };
});

export function setup() {
  const scales = targets.map(({ schema, db }) => scaleOf(db, schema));
  if (scales.some((scale) => JSON.stringify(scale) !== JSON.stringify(scales[0]))) {
    throw new Error(`the schemas differ in scale: ${JSON.stringify(scales)}; load them alike`);
  }
  targets.forEach(({ db }) => db.close());
  return scales[0];
}

export default function (scale) {
  const turn = spread === 'vu' ? exec.vu.idInTest - 1 : exec.scenario.iterationInTest;
  transact(targets[turn % targets.length].db, scale, seededRandom(iteration()), transaction());
}
