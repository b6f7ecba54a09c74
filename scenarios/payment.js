// Payment. One transaction: POST a payment, read it back by its id, and find
// it there with the amount that was sent, in the state that was answered:
// CONFIRMED; DECLINED by its gateway; or PENDING, where the gateway gave no
// answer, and by now perhaps decided. All three complete the transaction;
// CONFIRMED alone is acknowledged as persisted.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN, ASSAY_WORKER and
// ASSAY_SEED make identities unique and choices repeatable. Load, stages and
// thresholds are not the script's business.

import { iteration } from './lib/identity.js';
import { pay } from './lib/payment.js';
import { generator } from './lib/random.js';

export default function () {
  pay(generator(iteration()));
}
