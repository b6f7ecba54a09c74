// A payment at the reference service.

import http from 'k6/http';
import { Rate } from 'k6/metrics';
import { run, transaction } from './identity.js';
import { ack } from './ledger.js';
import { integer, weighted } from './random.js';
import { url } from './target.js';

// Share of each payment mode, percent.
const modes = { upi: 60, card: 25, netbanking: 10, wallet: 5 };

// Number of accounts of the reference service; drawn uniformly, so that no row is hot.
const accounts = 10000;

// The HTTP status of a response by the payment's state, and the states in which the
// payment may be read back. A declined payment is not an error; a PENDING one, whose
// gateway did not answer, is decided later.
const outcomes = {
  CONFIRMED: { status: 201, later: ['CONFIRMED'] },
  DECLINED: { status: 201, later: ['DECLINED'] },
  PENDING: { status: 202, later: ['PENDING', 'CONFIRMED', 'DECLINED'] },
};

// Share of the payments that were confirmed at once: without an SLO on it, a run in
// which every payment is declined would PASS.
const confirmed = new Rate('payment_confirmed');

// pay posts a payment and checks its state. It acknowledges CONFIRMED payments only, and
// returns the payment with its state.
export function pay(random) {
  const id = transaction();
  const payment = {
    id: id,
    run_id: run(),
    idempotency_key: id,
    mode: weighted(random, modes),
    amount: integer(random, 100, 500000), // minor units
    account: integer(random, 1, accounts),
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
  return { ...payment, state };
}

// readBack reads a payment that pay has returned by its id, and checks its amount and state.
export function readBack(payment) {
  const outcome = outcomes[payment.state];
  const stored = http.get(url(`/payments/${payment.id}`), { tags: { name: 'get_payment' } });
  if (stored.status !== 200) {
    throw new Error(`get_payment: ${stored.status} ${stored.error || stored.body}`);
  }
  if (!outcome.later.includes(stored.json('state')) || stored.json('amount') !== payment.amount) {
    throw new Error(`get_payment: want ${payment.amount} ${payment.state}, got ${stored.body}`);
  }
}
