// Ingestion. One transaction: one event sent by GET, acknowledged by a 2xx status.
// The service may store the event later than it responds; the ledger checks that
// it did.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN and ASSAY_SEED make
// identities unique and random choices repeatable. Load, stages and thresholds
// belong to the profile.

import { iteration } from './lib/identity.js';
import { ingest } from './lib/ingestion.js';
import { seededRandom } from './lib/random.js';

export default function () {
  ingest(seededRandom(iteration()));
}
