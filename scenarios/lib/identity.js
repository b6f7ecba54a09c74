// Identities of transactions, unique over runs, workers, VUs and iterations.

import exec from 'k6/execution';

const given = __ENV.ASSAY_RUN;

// run is the id of the run. Stock k6 sets none: then it is made of the name and
// the start time of the scenario, which all VUs of a process share.
export function run() {
  return given || `adhoc-${exec.scenario.name}-${exec.scenario.startTime}`;
}

// k6 makes a new object at each use of exec.scenario, which costs more CPU time than
// the rest of an iteration without requests. The first one stays valid: it reads the
// current iteration.
let scenario;
let prefix;

// iteration is the number of this iteration over all workers, in order of start and
// whichever VU runs it; in a profile of flows after the number of the flow. Random choices
// seeded with it are the same when the run is repeated. It is short, because systems under
// test limit the length of identities.
export function iteration() {
  scenario ??= exec.scenario;
  prefix ??= __ENV.ASSAY_FLOW ? `${__ENV.ASSAY_FLOW}-` : '';
  return prefix + scenario.iterationInTest;
}

// transaction is an identity that is unique among all iterations of all runs.
export function transaction() {
  return `${run()}-${iteration()}`;
}
