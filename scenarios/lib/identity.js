// Who this transaction is: unique over runs, workers, VUs and iterations, and
// the same whenever the same run is described.

import exec from 'k6/execution';

const worker = __ENV.ASSAY_WORKER || '0';

// run is the id of the run. Stock k6 sets none; the start of the scenario,
// which all VUs of a process share, then stands in for it.
export function run() {
  return __ENV.ASSAY_RUN || `adhoc-${exec.scenario.startTime}`;
}

// iteration tells this iteration from all others of the run.
export function iteration() {
  return `${worker}-${exec.vu.idInTest}-${exec.vu.iterationInInstance}`;
}

// transaction tells this iteration from all others of all runs.
export function transaction() {
  return `${run()}-${iteration()}`;
}
