// An event at the reference service.

import http from 'k6/http';
import { run, transaction } from './identity.js';
import { ack } from './ledger.js';
import { integer, weighted } from './random.js';
import { url } from './target.js';

// What is counted, and how often, in percent.
const names = { impression: 90, click: 9, conversion: 1 };

// ingest is one transaction: it sends one event by GET, which a 2xx
// acknowledges.
export function ingest(draw) {
  const id = transaction();
  const name = weighted(draw, names);
  const value = integer(draw, 1, 100);

  const query = `name=${name}&value=${value}&id=${encodeURIComponent(id)}&run_id=${encodeURIComponent(run())}`;
  const sent = http.get(url(`/?${query}`), { tags: { name: 'ingest' } });
  if (sent.status < 200 || sent.status > 299) {
    throw new Error(`ingest: ${sent.status} ${sent.error || sent.body}`);
  }
  ack(id);
}
