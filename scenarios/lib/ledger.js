// The ledger compares what the target acknowledged with what it stored.

import exec from 'k6/execution';
import { Counter } from 'k6/metrics';

const acknowledged = new Counter('ledger_acknowledged');

// ack records that the target has acknowledged this identity. It is sent as metadata
// of a sample: as a tag, each identity would create a time series.
export function ack(id) {
  exec.vu.metrics.metadata.ledger_id = String(id);
  acknowledged.add(1);
  delete exec.vu.metrics.metadata.ledger_id;
}
