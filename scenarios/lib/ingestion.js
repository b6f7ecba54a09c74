// An event at the reference service.

import http from 'k6/http';
import { run, transaction } from './identity.js';
import { ack } from './ledger.js';
import { integer, weighted } from './random.js';
import { url } from './target.js';

// Names of the events and the share of each, percent.
const names = { impression: 90, click: 9, conversion: 1 };

// ingest is one transaction: it sends one event by GET, which a 2xx status
// acknowledges.
export function ingest(random) {
  const id = transaction();
  const name = weighted(random, names);
  const value = integer(random, 1, 100);

  const query = `name=${name}&value=${value}&id=${encodeURIComponent(id)}&run_id=${encodeURIComponent(run())}`;
  const response = http.get(url(`/?${query}`), { tags: { name: 'ingest' } });
  if (response.status < 200 || response.status > 299) {
    throw new Error(`ingest: ${response.status} ${response.error || response.body}`);
  }
  ack(id);
}
