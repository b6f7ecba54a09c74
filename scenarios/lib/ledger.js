// The ledger compares what the target acknowledged with what it stored.

import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

const acknowledged = new Counter('ledger_acknowledged');

// This VU's metadata. It is kept, since k6 makes several new objects at each use of
// exec.vu: these cost as much CPU time as a request.
let metadata;

// ack records that the target has acknowledged this identity, a string, a number or a BigInt: a
// number over 2^53, which JavaScript rounds, ends the run. It is sent as metadata
// of a sample: as a tag, each identity would create a time series. In a profile with flows
// only transactions may call it: what setup() or teardown() acknowledges is of no flow, and
// ends the run.
export function ack(id) {
  if (id === '' || !['string', 'number', 'bigint'].includes(typeof id)) {
    throw new Error(`ack(): ${id === '' ? 'an empty text' : id === null ? 'null' : typeof id} is no identity`);
  }
  metadata ??= exec.vu.metrics.metadata;
  metadata.ledger_id = String(id);
  const rounded = typeof id === 'number' && !(Math.abs(id) <= Number.MAX_SAFE_INTEGER);
  if (rounded) metadata.ledger_rounded = 'yes';
  acknowledged.add(1);
  delete metadata.ledger_id;
  if (rounded) delete metadata.ledger_rounded;
}
