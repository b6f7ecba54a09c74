package sql

import (
	"fmt"
	"slices"
	"time"

	"github.com/grafana/sobek"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
)

// ImportPath is the name under which scripts import the module:
//
//	import { now, open, pool } from 'k6/x/assay/sql';
//
//	const c = open(dsn, { schema: 'shop', timeout: '10s', tags: { path: 'direct' } });
//	c.exec('UPDATE t SET n = n + ? WHERE id = ?', 1, 7).affected;
//	c.query('SELECT n FROM t WHERE id = ?', 7)[0].n;
//	c.transaction((c) => { ... });       // or begin(), commit(), rollback()
//	const s = c.prepare('SELECT 1');     // on the server: s.exec(), s.query(), s.close()
//	c.close();
//
//	const p = pool(dsn, { max: 10 });    // one for all VUs of the process
//	const taken = p.take();              // a connection; its close() gives it back
//
//	now();                               // ms by a monotonic clock, since some instant
//
// open connects at once, outside of the init context, and its connection is never
// replaced. Decimals, dates and bytes are strings in results. What fails throws an Error
// with the fields class, code (a number, for PostgreSQL a string; undefined: not from the
// server), state (SQLSTATE) and rolledBack (the transaction may be sent again).
const ImportPath = "k6/x/assay/sql"

type root struct{ sends func(vu uint64) }

// NewModuleInstance makes the module of a VU.
func (r root) NewModuleInstance(vu modules.VU) modules.Instance {
	m, err := registerMetrics(vu.InitEnv().Registry)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	return &module{vu, m, r.sends}
}

// module is the module of one VU.
type module struct {
	vu      modules.VU
	metrics *sqlMetrics
	sends   func(vu uint64) // notes that a VU sends something
}

// Exports are open, pool and now.
func (m *module) Exports() modules.Exports {
	return modules.Exports{Named: map[string]any{"open": m.open, "pool": m.pool, "now": now}}
}

var start = time.Now()

// now is finer than Date.now, whose unit is a millisecond, and does not follow steps of the
// clock.
func now() float64 { return float64(time.Since(start)) / float64(time.Millisecond) }

// open opens a connection of its own.
func (m *module) open(dsn string, given sobek.Value) *Connection {
	o, err := readOptions(given, "schema", "timeout", "tags")
	if err != nil {
		m.throw(fmt.Errorf("open: %w", err))
	}
	db, err := openPool(dsn, o.schema, 1)
	if err != nil {
		m.throw(fmt.Errorf("open: %w", err))
	}
	return m.connect("open", db, o, db.close)
}

// pool returns the pool with these parameters, of all VUs of the process.
func (m *module) pool(dsn string, given sobek.Value) *Pool {
	o, err := readOptions(given, "schema", "timeout", "tags", "max")
	if err != nil {
		m.throw(fmt.Errorf("pool: %w", err))
	}
	shared, err := sharedPool(dsn, o.schema, o.max)
	if err != nil {
		m.throw(fmt.Errorf("pool: %w", err))
	}
	return &Pool{m, shared, o}
}

// Pool is a shared pool, as one VU sees it.
type Pool struct {
	module *module
	db     *pooled
	o      options
}

// Take takes a connection from the pool, which connects if none is idle, and waits while
// as many are in use as the pool may have.
func (p *Pool) Take() *Connection { return p.module.connect("take", p.db, p.o, nil) }

// Close closes the pool for all VUs of the process.
func (p *Pool) Close() { p.db.close() }

// throw throws an error that is not about a connection.
func (m *module) throw(err error) { common.Throw(m.vu.Runtime(), err) }

// defaultTimeout bounds opening a connection, and each statement: a node that was cut off
// answers neither.
const defaultTimeout = 10 * time.Second

// options are those of open and pool.
type options struct {
	schema  string // instead of the DSN's; empty: the DSN's
	timeout time.Duration
	tags    map[string]string // tags of all samples
	max     int               // connections of a pool
}

// readOptions reads the object that a script passes; keys are the known ones.
func readOptions(given sobek.Value, keys ...string) (options, error) {
	o := options{timeout: defaultTimeout, max: 10}
	if given == nil || sobek.IsUndefined(given) || sobek.IsNull(given) {
		return o, nil
	}
	all, ok := given.Export().(map[string]any)
	if !ok {
		return o, fmt.Errorf("options are no object but %v", given)
	}
	for key, value := range all {
		if !slices.Contains(keys, key) {
			return o, fmt.Errorf("unknown option %q, there are %q", key, keys)
		}
		var err error
		valid := true
		switch key {
		case "schema":
			o.schema, valid = value.(string)
		case "timeout":
			var text string
			text, valid = value.(string)
			if o.timeout, err = time.ParseDuration(text); valid && err == nil && o.timeout <= 0 {
				valid = false
			}
		case "max":
			var n int64
			n, valid = value.(int64)
			o.max, valid = int(n), valid && n > 0
		case "tags":
			var tags map[string]any
			tags, valid = value.(map[string]any)
			o.tags = map[string]string{}
			for k, v := range tags {
				o.tags[k] = fmt.Sprint(v)
			}
		}
		if err != nil || !valid {
			return o, fmt.Errorf("option %s: not valid: %v", key, value)
		}
	}
	return o, nil
}
