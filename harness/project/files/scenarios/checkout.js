// Checkout. One transaction: one call of the default function. Put your own k6
// script here. The base URL is in ASSAY_TARGET; a name tag tells requests
// apart; load, stages and thresholds are not the script's business.

import http from 'k6/http';
import { check } from 'k6';

export default function () {
  const page = http.get(`${__ENV.ASSAY_TARGET}/`, { tags: { name: 'front' } });
  check(page, { 'status is 200': (r) => r.status === 200 });
}
