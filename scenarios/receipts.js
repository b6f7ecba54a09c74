// Receipts. One transaction: somebody looks at a payment that was made before the load
// began, by its id.
//
// setup() makes these payments. They are none of the run's load, and have a run id of their
// own, RUN-before: a profile removes them with a ledger.cleanup of RUN and all that begins
// with RUN-.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN and ASSAY_SEED make
// identities unique and random choices repeatable. Load, stages and thresholds
// belong to the profile.

import http from 'k6/http';
import { iteration, run } from './lib/identity.js';
import { integer, seededRandom } from './lib/random.js';
import { url } from './lib/target.js';

const payments = 50;

export function setup() {
  const ids = [];
  for (let i = 0; i < payments; i++) {
    const id = `${run()}-before-${i}`;
    const payment = { id, run_id: `${run()}-before`, idempotency_key: id, mode: 'wallet', amount: 100 + i, account: 1 + i };
    const paid = http.post(url('/payments'), JSON.stringify(payment), {
      headers: { 'Content-Type': 'application/json' },
      tags: { name: 'pay_before' },
    });
    if (paid.status !== 201 && paid.status !== 202) {
      throw new Error(`setup: pay: ${paid.status} ${paid.error || paid.body}`);
    }
    ids.push(id);
  }
  return ids;
}

export default function (ids) {
  const at = integer(seededRandom(iteration()), 0, ids.length - 1);
  const found = http.get(url(`/payments/${ids[at]}`), { tags: { name: 'receipt' } });
  if (found.status !== 200 || found.json('amount') !== 100 + at) {
    throw new Error(`receipt: ${found.status} ${found.error || found.body}`);
  }
}
