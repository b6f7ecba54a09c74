// A payment at the reference service.

import http from 'k6/http';
import { Rate } from 'k6/metrics';
import { run, transaction } from './identity.js';
import { ack } from './ledger.js';
import { integer, weighted } from './random.js';
import { url } from './target.js';

// How often customers choose each payment mode, in percent.
const modes = { upi: 60, card: 25, netbanking: 10, wallet: 5 };

// The accounts of the reference service; drawn evenly, so that no row is hot.
const accounts = 10000;

// The status of an answer by the payment's state, and what the payment may be
// by the time it is read back. A decline is an outcome of business, not an
// error; PENDING, where the gateway gave no answer, is decided later.
const outcomes = {
  CONFIRMED: { status: 201, then: ['CONFIRMED'] },
  DECLINED: { status: 201, then: ['DECLINED'] },
  PENDING: { status: 202, then: ['PENDING', 'CONFIRMED', 'DECLINED'] },
};

// Share of the payments that were confirmed at once: without it a run in which
// every payment is declined would hold its SLOs.
const confirmed = new Rate('payment_confirmed');

// pay is one transaction: it posts a payment, reads it back by its id, and finds
// it there with the amount that was sent and in the state that was answered. It
// acknowledges what was CONFIRMED, and nothing else.
export function pay(draw) {
  const id = transaction();
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
  if (paid.status !== 201 && paid.status !== 202) {
    throw new Error(`pay: ${paid.status} ${paid.error || paid.body}`);
  }
  const state = paid.json('state');
  const outcome = outcomes[state];
  if (!outcome || outcome.status !== paid.status || paid.json('id') !== id) {
    throw new Error(`pay: ${paid.status} ${paid.body}`);
  }
  confirmed.add(state === 'CONFIRMED');
  if (state === 'CONFIRMED') {
    ack(id);
  }

  const stored = http.get(url(`/payments/${id}`), { tags: { name: 'get_payment' } });
  if (stored.status !== 200) {
    throw new Error(`get_payment: ${stored.status} ${stored.error || stored.body}`);
  }
  if (!outcome.then.includes(stored.json('state')) || stored.json('amount') !== payment.amount) {
    throw new Error(`get_payment: want ${payment.amount} ${state}, got ${stored.body}`);
  }
}
