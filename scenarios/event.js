// A match day. One transaction: either an event that is ingested, as in
// ingestion.js, or a payment, as in payment.js: viewers are counted all the
// time, and some of them buy.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN, ASSAY_WORKER and
// ASSAY_SEED make identities unique and choices repeatable. Load, stages and
// thresholds are not the script's business.

import { iteration } from './lib/identity.js';
import { ingest } from './lib/ingestion.js';
import { pay } from './lib/payment.js';
import { generator, weighted } from './lib/random.js';

// How often a transaction is of each kind, in percent.
const kinds = { ingestion: 95, payment: 5 };

export default function () {
  const draw = generator(iteration());
  if (weighted(draw, kinds) === 'payment') {
    pay(draw);
  } else {
    ingest(draw);
  }
}
