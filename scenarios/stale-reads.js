// Stale reads. One transaction: insert a row on node a, and read it on node b: is it there?
// If not, read it again until it is, at most STALE_READS_LIMIT ms (default 5000): then the
// transaction has failed. Two modes take turns, so that they are compared under the same
// conditions: default, and causal, where the read waits until it sees the write:
//
//   Galera              SET SESSION wsrep_sync_wait = 1, on node b
//   Group Replication   SET SESSION group_replication_consistency = 'BEFORE', on node b
//   replication         WAIT_FOR_EXECUTED_GTID_SET (MySQL) or MASTER_GTID_WAIT (MariaDB) on
//                       node b before the read, with the GTID that node a gave the write
//
// Metrics, with the tag mode: stale_reads (share of first reads without the row),
// write_time and read_time (ms; with all that the mode costs), visible_after (ms from the
// end of the write to the end of the first read with the row).
//
// The table stale_reads is made in setup() in the schema of node a's DSN, which node b's DSN
// must name too, and dropped in teardown(): one run at a time.
//
// Environment: ASSAY_DB_NODES (DSNs of nodes a and b, "needs": ["db_nodes"]). Load, stages
// and thresholds belong to the profile.

import exec from 'k6/execution';
import { sleep } from 'k6';
import { Rate, Trend } from 'k6/metrics';
import { now } from 'k6/x/assay/sql';
import { run, transaction } from './lib/identity.js';
import { connect, node } from './lib/sql.js';

const limit = Number(__ENV.STALE_READS_LIMIT || 5000);
const poll = 0.001; // s

const stale = new Rate('stale_reads');
const writeTime = new Trend('write_time', true);
const readTime = new Trend('read_time', true);
const visibleAfter = new Trend('visible_after', true);

const a = connect(node('a'), { tags: { node: 'a' } });
const b = connect(node('b'), { tags: { node: 'b' } });
const modes = ['default', 'causal'];

// variable is a global variable of a server; undefined: it has none of this name.
function variable(db, name) {
  const rows = db.query('SHOW GLOBAL VARIABLES LIKE ?', name);
  return rows.length > 0 ? rows[0].Value : undefined;
}

// kindOf says how the nodes replicate. It asks node a: node b may not have the schema yet.
function kindOf() {
  const mariadb = /mariadb/i.test(a.query('SELECT VERSION() AS v')[0].v);
  if (mariadb && variable(a, 'wsrep_on') === 'ON') {
    return 'galera';
  }
  if (!mariadb && variable(a, 'group_replication_group_name')) {
    return 'group';
  }
  if (!mariadb && variable(a, 'gtid_mode') !== 'ON') {
    throw new Error('node a has gtid_mode=OFF, which the causal mode needs: start both nodes with --gtid-mode=ON --enforce-gtid-consistency=ON');
  }
  return mariadb ? 'mariadb' : 'mysql';
}

export function setup() {
  const kind = kindOf();
  a.exec('DROP TABLE IF EXISTS stale_reads');
  a.exec('CREATE TABLE stale_reads (id VARCHAR(64) NOT NULL PRIMARY KEY, run_id VARCHAR(64) NOT NULL)');
  for (const deadline = now() + limit; ; sleep(poll)) {
    try {
      b.query('SELECT COUNT(*) FROM stale_reads');
      break;
    } catch (e) {
      if (now() > deadline) {
        a.exec('DROP TABLE IF EXISTS stale_reads');
        throw new Error(`node b does not show the table of node a within ${limit} ms (${e.message}): do they replicate, and do both DSNs name the same schema?`);
      }
    }
  }
  // What node b will never have: it was made from a copy of node a.
  let missing = '';
  if (kind === 'mysql') {
    const known = b.query('SELECT @@GLOBAL.gtid_executed AS gtids')[0].gtids;
    missing = a.query('SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, ?) AS gtids', known)[0].gtids;
  }
  a.close();
  b.close();
  return { kind, missing };
}

// written is what the causal read of replication waits for: MariaDB tells the GTID of a
// session's last write, MySQL those of all writes so far.
const written = {
  mariadb: () => a.query('SELECT @@SESSION.last_gtid AS gtids')[0].gtids,
  mysql: (missing) => a.query('SELECT GTID_SUBTRACT(@@GLOBAL.gtid_executed, ?) AS gtids', missing)[0].gtids,
};

// Statements on node b that wait for a GTID, with a limit in s; 0 is success.
const awaited = {
  mariadb: 'SELECT MASTER_GTID_WAIT(?, ?) AS outcome',
  mysql: 'SELECT WAIT_FOR_EXECUTED_GTID_SET(?, ?) AS outcome',
};

// Statements on node b that turn the causal mode of a cluster on and off.
const switches = {
  galera: { causal: 'SET SESSION wsrep_sync_wait = 1', default: 'SET SESSION wsrep_sync_wait = 0' },
  group: { causal: "SET SESSION group_replication_consistency = 'BEFORE'", default: "SET SESSION group_replication_consistency = 'EVENTUAL'" },
};

export default function ({ kind, missing }) {
  const id = transaction();
  const mode = modes[exec.scenario.iterationInTest % modes.length];
  if (switches[kind]) {
    b.exec(switches[kind][mode]); // its time is not counted: an application sets it once
  }

  let began = now();
  a.exec('INSERT INTO stale_reads (id, run_id) VALUES (?, ?)', id, run());
  const wrote = now();
  let gtid;
  if (mode === 'causal' && written[kind]) {
    gtid = written[kind](missing);
  }
  writeTime.add(now() - began, { mode });

  began = now();
  if (gtid) {
    const { outcome } = b.query(awaited[kind], gtid, limit / 1000)[0];
    if (outcome !== 0) {
      throw new Error(`node b has not applied ${gtid} within ${limit} ms`);
    }
  }
  let visible = read(id);
  readTime.add(now() - began, { mode });
  stale.add(!visible, { mode });
  while (!visible) {
    if (now() - wrote > limit) {
      throw new Error(`node b does not show a write of node a after ${limit} ms`);
    }
    sleep(poll);
    visible = read(id);
  }
  visibleAfter.add(now() - wrote, { mode });
}

function read(id) {
  return b.query('SELECT id FROM stale_reads WHERE id = ?', id).length > 0;
}

export function teardown() {
  a.exec('DROP TABLE IF EXISTS stale_reads');
}
