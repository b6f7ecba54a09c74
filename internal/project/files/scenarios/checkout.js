// Checkout. One transaction: one call of the default function. Replace this with
// your own k6 script. ASSAY_TARGET is the base URL; SLOs select requests by their
// name tag; load, stages and thresholds belong to the profile.

import http from 'k6/http';
import { check } from 'k6';

export default function () {
  const page = http.get(`${__ENV.ASSAY_TARGET}/`, { tags: { name: 'front' } });
  check(page, { 'status is 200': (r) => r.status === 200 });
}
