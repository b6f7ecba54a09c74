// What a connection costs. One transaction: open a connection, send a first query, close
// it. The ways take turns: direct, a new connection to the server; proxied, one through the
// proxy; pooled, one taken from a pool of this worker, and given back.
//
// Metrics, ms, with the tag path (direct, proxied, pooled): connection_open,
// connection_first_query, connection_close.
//
// Environment: ASSAY_DB (DSN, "needs": ["db"]) for direct and pooled. If CONNECTION_PATHS
// (the profile's "env", default "direct pooled") names proxied, direct and pooled use node
// a, and proxied uses node proxy of ASSAY_DB_NODES ("needs": ["db_nodes"]).
// CONNECTION_POOL: connections of the pool, default 10. Load, stages and thresholds
// belong to the profile.

import exec from 'k6/execution';
import { Trend } from 'k6/metrics';
import { now, open, pool } from 'k6/x/assay/sql';
import { database, node } from './lib/sql.js';

const paths = (__ENV.CONNECTION_PATHS || 'direct pooled').trim().split(/\s+/);
const unknown = paths.find((path) => !['direct', 'proxied', 'pooled'].includes(path));
if (unknown) {
  throw new Error(`CONNECTION_PATHS has ${unknown}: there are direct, proxied and pooled`);
}
const proxied = paths.includes('proxied');
const server = proxied ? node('a') : database();
const proxy = proxied ? node('proxy') : null;
const max = Number(__ENV.CONNECTION_POOL || 10);

const opening = new Trend('connection_open', true);
const firstQuery = new Trend('connection_first_query', true);
const closing = new Trend('connection_close', true);

const ways = {
  direct: (options) => open(server, options),
  proxied: (options) => open(proxy, options),
  pooled: (options) => pool(server, { ...options, max }).take(),
};

// timed adds the time of an action to a trend.
function timed(trend, tags, action) {
  const began = now();
  const result = action();
  trend.add(now() - began, tags);
  return result;
}

export default function () {
  const path = paths[exec.scenario.iterationInTest % paths.length];
  const tags = { path };
  const connection = timed(opening, tags, () => ways[path]({ tags }));
  try {
    timed(firstQuery, tags, () => connection.query('SELECT 1 AS one'));
  } finally {
    timed(closing, tags, () => connection.close());
  }
}
