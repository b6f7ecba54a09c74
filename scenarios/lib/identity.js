// Who this transaction is: unique over runs, workers, VUs and iterations.

import exec from 'k6/execution';

// run is the id of the run. Stock k6 sets none; the name and start of the
// scenario, which all VUs of a process share, then stand in for it.
export function run() {
  return __ENV.ASSAY_RUN || `adhoc-${exec.scenario.name}-${exec.scenario.startTime}`;
}

// iteration is this iteration's number in the run, over all workers: the n-th
// to start, whichever VU has taken it, so that what is drawn by it is the same
// in the same run again.
export function iteration() {
  return String(exec.scenario.iterationInTest);
}

// transaction tells this iteration from all others of all runs.
export function transaction() {
  return `${run()}-${iteration()}`;
}
