// Think times of a user journey.

import { think as pause } from 'k6/x/assay/journey';
import { integer } from './random.js';

// think waits in the place of a user who reads or decides, for so many seconds: it counts
// neither as the transaction's latency nor towards its timeout, and the VUs are planned with
// it. The profile, or its flow, says for how long a transaction thinks at most: "think": "5s".
// k6's sleep() would count as time of the service.
export function think(seconds) {
  pause(seconds);
}

// thinkBetween thinks for a time drawn uniformly between two numbers of seconds, to the
// millisecond.
export function thinkBetween(random, least, most) {
  pause(integer(random, least * 1000, most * 1000) / 1000);
}
