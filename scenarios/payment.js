// Payment. One transaction: POST a payment, read it back by its id, and check its
// amount and its state, which is CONFIRMED; DECLINED by the gateway; or PENDING if
// the gateway did not answer (it may be decided by the time it is read back). All
// three complete the transaction; only CONFIRMED is acknowledged as persisted.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN and ASSAY_SEED make
// identities unique and random choices repeatable. Load, stages and thresholds
// belong to the profile.

import { iteration } from './lib/identity.js';
import { pay, readBack } from './lib/payment.js';
import { seededRandom } from './lib/random.js';

export default function () {
  readBack(pay(seededRandom(iteration())));
}
