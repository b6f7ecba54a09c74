// Checkout. One transaction: a user pays, looks at the confirmation, and opens the receipt.
// What the user reads in between is think time: it is none of the service's latency.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN and ASSAY_SEED make
// identities unique and random choices repeatable. Load, stages and thresholds
// belong to the profile, which needs "think": "2s".

import { group } from 'k6';
import { iteration } from './lib/identity.js';
import { pay, readBack } from './lib/payment.js';
import { seededRandom } from './lib/random.js';
import { thinkBetween } from './lib/think.js';

export default function () {
  const random = seededRandom(iteration());
  const payment = group('pay', () => pay(random));
  thinkBetween(random, 0.2, 1.5);
  group('receipt', () => readBack(payment));
}
