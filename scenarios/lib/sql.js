// Connections of VUs, directly to the database or its nodes.

import { open } from 'k6/x/assay/sql';

// database is the DSN of the database.
export function database() {
  if (!__ENV.ASSAY_DB) {
    throw new Error('ASSAY_DB is not set: give a DSN, as in ASSAY_DB="user:password@tcp(127.0.0.1:3306)/shop"; the profile needs "needs": ["db"]');
  }
  return __ENV.ASSAY_DB;
}

// nodes are the DSNs of the database's nodes, and of the ways to them, by name.
export function nodes() {
  if (!__ENV.ASSAY_DB_NODES) {
    throw new Error('ASSAY_DB_NODES is not set: give DSNs, as in ASSAY_DB_NODES="a=user:password@tcp(127.0.0.1:3306)/shop b=..."; the profile needs "needs": ["db_nodes"]');
  }
  const all = {};
  for (const entry of __ENV.ASSAY_DB_NODES.trim().split(/\s+/)) {
    const at = entry.indexOf('=');
    all[entry.slice(0, at)] = entry.slice(at + 1);
  }
  return all;
}

// node is the DSN of one node.
export function node(name) {
  const all = nodes();
  if (!all[name]) {
    throw new Error(`ASSAY_DB_NODES has no node ${name}, only ${Object.keys(all).join(', ')}: add its DSN, or start a stack with it: assay-lab stack up --topology multi-primary --proxy`);
  }
  return all[name];
}

// Classes of errors after which the server has no session any more.
const ended = ['server shutdown', 'session killed'];

// connect is a connection of this VU, opened at its first use, and again after it was lost:
// the statement or transaction that lost it throws, and is not sent again. The options are
// those of k6/x/assay/sql. Workers close their connections when the run ends.
export function connect(dsn, options) {
  let connection = null;

  function use(what) {
    if (!connection) {
      connection = open(dsn, options);
    }
    try {
      return what(connection);
    } catch (e) {
      if (e.class && (e.code === undefined || ended.includes(e.class))) {
        close();
      }
      throw e;
    }
  }

  function close() {
    if (connection) {
      connection.close();
      connection = null;
    }
  }

  return {
    exec: (...args) => use((c) => c.exec(...args)),
    query: (...args) => use((c) => c.query(...args)),
    // transaction calls work with the connection itself, between BEGIN and COMMIT.
    transaction: (work) => use((c) => c.transaction(work)),
    close,
  };
}
