// A match day. One transaction: either an event, as in ingestion.js, or a payment,
// as in payment.js: every viewer sends events, and some of them buy.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN and ASSAY_SEED make
// identities unique and random choices repeatable. Load, stages and thresholds
// belong to the profile.

import { iteration } from './lib/identity.js';
import { ingest } from './lib/ingestion.js';
import { pay } from './lib/payment.js';
import { seededRandom, weighted } from './lib/random.js';

// Share of each kind of transaction, percent.
const kinds = { ingestion: 95, payment: 5 };

export default function () {
  const random = seededRandom(iteration());
  if (weighted(random, kinds) === 'payment') {
    pay(random);
  } else {
    ingest(random);
  }
}
