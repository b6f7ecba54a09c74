// Every property of k6/x/assay/sql, on MySQL, MariaDB and PostgreSQL.
import { now, open, pool } from 'k6/x/assay/sql';

const dsn = __ENV.DSN;
const postgres = dsn.startsWith('postgres');
let failures = 0;

function check(what, ok) {
  if (!ok) {
    failures++;
    console.error(`WRONG: ${what}`);
  }
}

function caught(action) {
  try {
    action();
  } catch (e) {
    return e;
  }
  return {};
}

const early = caught(() => open(dsn));

export function setup() {
  const c = open(dsn);
  c.exec('CREATE TABLE t (id INT PRIMARY KEY, n DECIMAL(6,2), text VARCHAR(20))');
  c.exec('INSERT INTO t VALUES (1, 1.50, ?), (2, 2, NULL)', 'a?');
  c.close();
}

export default function () {
  check('open in the init context throws', /init context/.test(String(early.message)));
  const c = open(dsn, { tags: { path: 'direct' } });
  const rows = c.query('SELECT id, n, text FROM t ORDER BY id');
  check(`rows ${JSON.stringify(rows)}`, JSON.stringify(rows) === '[{"id":1,"n":"1.50","text":"a?"},{"id":2,"n":"2.00","text":null}]');
  check('rows are an array', Array.isArray(rows) && rows.map((r) => r.id).join() === '1,2');
  check('affected', c.exec('UPDATE t SET n = n + ?', 1).affected === 2);

  // A prepared statement.
  const s = c.prepare('SELECT text FROM t WHERE id = ?');
  check('prepared', s.query(1)[0].text === 'a?' && s.query(7).length === 0);
  s.close();

  // Transactions: committed, thrown out of, by hand.
  const n = () => Number(open1(dsn, 'SELECT n FROM t WHERE id = 1').n);
  check('result', c.transaction((same) => (same.exec('UPDATE t SET n = 5 WHERE id = 1'), 42)) === 42);
  check('committed', n() === 5);
  const mine = new Error('mine');
  check('rethrown', caught(() => c.transaction(() => { c.exec('UPDATE t SET n = 6 WHERE id = 1'); throw mine; })) === mine);
  check('rolled back', n() === 5);
  c.begin();
  c.exec('UPDATE t SET n = 7 WHERE id = 1');
  check('not yet', n() === 5);
  c.rollback();
  c.begin();
  c.exec('UPDATE t SET n = 8 WHERE id = 1');
  c.commit();
  check('by hand', n() === 8);

  // Errors of the server and of the connection.
  const twice = caught(() => c.exec('INSERT INTO t VALUES (1, 1, NULL)'));
  check(`duplicate ${twice.message}`, twice instanceof Error && twice.class === 'duplicate key' && twice.code === (postgres ? '23505' : 1062) && /^23/.test(twice.state) && twice.rolledBack === false);
  const other = caught(() => c.query('SELECT nothing FROM nowhere'));
  check(`other ${other.message}`, other.class === `SQL error ${other.code}`);
  const refused = caught(() => open(dsn.replace(/127\.0\.0\.1:\d+/, '127.0.0.1:1')));
  check(`refused ${refused.message}`, refused.class === 'connection refused' && refused.code === undefined);
  const slow = caught(() => open(dsn, { timeout: '200ms' }).query(postgres ? 'SELECT pg_sleep(20)' : 'SELECT SLEEP(20)'));
  check(`slow ${slow.message}`, slow.class === 'timeout');
  const late = caught(() => open(dsn, { timeout: 'soon' }));
  check(`timeout ${late.message}`, /timeout/.test(late.message));
  const unknown = caught(() => open(dsn, { tag: {} }));
  check(`option ${unknown.message}`, /unknown option "tag"/.test(unknown.message));
  const bad = caught(() => open('user:hunter2@nowhere'));
  check(`bad DSN ${bad.message}`, bad.message && !/hunter2/.test(bad.message));

  // An error after the columns of a result is thrown too.
  const d = open(dsn);
  c.begin();
  d.begin();
  c.query('SELECT n FROM t WHERE id = 1 FOR UPDATE');
  d.query('SELECT n FROM t WHERE id = 2 FOR UPDATE');
  check('locked', lockTimeout(d));
  c.rollback();
  d.rollback();
  d.close();

  // A lost connection is not replaced: nothing of a transaction is sent on another one.
  c.begin();
  c.exec('INSERT INTO t VALUES (3, 0, NULL)');
  kill(c);
  const lost = [];
  for (let i = 0; i < 3; i++) {
    lost.push(caught(() => c.exec('INSERT INTO t VALUES (4, 0, NULL)')).class);
  }
  check(`lost ${lost}`, lost.every((l) => ['connection closed', 'connection reset', 'session killed', 'server shutdown'].includes(l)));
  check('nothing was stored', open1(dsn, 'SELECT COUNT(*) AS n FROM t').n === 2);

  // A pool of one: its connection is given back, and used again.
  const p = pool(dsn, { max: 1, tags: { path: 'pooled' } });
  const id = () => { const taken = p.take(); const i = session(taken); taken.close(); return i; };
  check('pooled', id() === id());
  const held = p.take();
  check('exhausted', caught(() => pool(dsn, { max: 1, timeout: '100ms' }).take()).class === 'timeout');
  held.close();
  p.close();

  const began = now();
  check('clock', now() >= began);
  if (failures > 0) {
    throw new Error(`${failures} wrong`);
  }
}

const session = (c) => c.query(postgres ? 'SELECT pg_backend_pid() AS i' : 'SELECT CONNECTION_ID() AS i')[0].i;

function open1(dsn, statement) {
  const c = open(dsn);
  const row = c.query(statement)[0];
  c.close();
  return row;
}

function kill(c) {
  const id = session(c);
  const killer = open(dsn);
  postgres ? killer.query('SELECT pg_terminate_backend(?::int)', id) : killer.exec(`KILL ${id}`);
  killer.close();
}

function lockTimeout(c) {
  c.exec(postgres ? "SET LOCAL lock_timeout = '100ms'" : 'SET SESSION innodb_lock_wait_timeout = 1');
  return caught(() => c.query('SELECT n FROM t WHERE id = 1 FOR UPDATE')).class === 'lock wait timeout';
}
