// Ingestion. One transaction: one event sent by GET, acknowledged by a 2xx. A
// 2xx is not persistence: the service may store the event later, and the ledger
// finds out whether it did.
//
// Environment: ASSAY_TARGET (base URL, required); ASSAY_RUN, ASSAY_WORKER and
// ASSAY_SEED make identities unique and choices repeatable. Load, stages and
// thresholds are not the script's business.

import http from 'k6/http';
import { iteration, run, transaction } from './lib/identity.js';
import { ack } from './lib/ledger.js';
import { generator, integer, weighted } from './lib/random.js';
import { url } from './lib/target.js';

// What is counted, and how often, in percent.
const names = { impression: 90, click: 9, conversion: 1 };

export default function () {
  const id = transaction();
  const draw = generator(iteration());
  const name = weighted(draw, names);
  const value = integer(draw, 1, 100);

  const query = `name=${name}&value=${value}&id=${encodeURIComponent(id)}&run_id=${encodeURIComponent(run())}`;
  const sent = http.get(url(`/?${query}`), { tags: { name: 'ingest' } });
  if (sent.status < 200 || sent.status > 299) {
    throw new Error(`ingest: ${sent.status} ${sent.error || sent.body}`);
  }
  ack(id);
}
