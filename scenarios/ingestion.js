// Ingestion. One transaction: one event sent by GET, acknowledged by a 2xx. A
// 2xx is not persistence: the service may store the event later, and the ledger
// finds out whether it did.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN, ASSAY_WORKER and
// ASSAY_SEED make identities unique and choices repeatable. Load, stages and
// thresholds are not the script's business.

import { iteration } from './lib/identity.js';
import { ingest } from './lib/ingestion.js';
import { generator } from './lib/random.js';

export default function () {
  ingest(generator(iteration()));
}
