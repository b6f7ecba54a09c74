// Payment. One transaction: POST a payment, read it back by its id, and find
// it CONFIRMED there with the amount that was sent.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN, ASSAY_WORKER and
// ASSAY_SEED make identities unique and choices repeatable. Load, stages and
// thresholds are not the script's business.

import http from 'k6/http';
import { iteration, run, transaction } from './lib/identity.js';
import { ack } from './lib/ledger.js';
import { generator, integer, weighted } from './lib/random.js';
import { url } from './lib/target.js';

// How often customers choose each payment mode, in percent.
const modes = { upi: 60, card: 25, netbanking: 10, wallet: 5 };

// The accounts of the reference service; drawn evenly, so that no row is hot.
const accounts = 10000;

export default function () {
  const id = transaction();
  const draw = generator(iteration());
  const payment = {
    id: id,
    run_id: run(),
    idempotency_key: id,
    mode: weighted(draw, modes),
    amount: integer(draw, 100, 500000), // minor units
    account: integer(draw, 1, accounts),
  };

  const paid = http.post(url('/payments'), JSON.stringify(payment), {
    headers: { 'Content-Type': 'application/json' },
    tags: { name: 'pay' },
  });
  if (paid.status !== 201 || paid.json('id') !== id) {
    throw new Error(`pay: ${paid.status} ${paid.error || paid.body}`);
  }
  ack(id);

  const stored = http.get(url(`/payments/${id}`), { tags: { name: 'get_payment' } });
  if (stored.status !== 200) {
    throw new Error(`get_payment: ${stored.status} ${stored.error || stored.body}`);
  }
  if (stored.json('state') !== 'CONFIRMED' || stored.json('amount') !== payment.amount) {
    throw new Error(`get_payment: want ${payment.amount} CONFIRMED, got ${stored.body}`);
  }
}
