// The five transactions of TPC-C (revision 5.11, clause 2), on the tables that `assay-lab tpcc
// load` makes. What they measure is like TPC-C, and unaudited: there are no terminals, and
// neither keying nor think time, so a rate is no tpmC.
//
// A transaction that writes inserts its identity into tpcc_ledger before it commits: one
// statement more than the specification has.

import { now } from 'k6/x/assay/sql';
import { Counter, Rate, Trend } from 'k6/metrics';
import { run } from './identity.js';
import { ack } from './ledger.js';
import { integer, weighted } from './random.js';

const districts = 10; // of a warehouse

// Share of each transaction, percent (clause 5.2.3 has lower bounds for all but New-Order).
const mix = { new_order: 45, payment: 43, order_status: 4, delivery: 4, stock_level: 4 };

// How often a transaction is sent again that the server has rolled back for a conflict.
const maxRetries = 10;

// Constants of NURand. That of last names differs from the loader's, 157, by an allowed
// distance (clause 2.1.6.1).
const constants = { name: 223, customer: 259, item: 7911 };

const duration = new Trend('tpcc_duration', true); // by the tag name, with its retries
const retries = new Counter('tpcc_retries');
const retried = new Rate('tpcc_retried'); // share of transactions that were sent again

// scaleOf reads what was loaded into a schema.
export function scaleOf(db, schema) {
  let loaded;
  try {
    loaded = db.query('SELECT warehouses, items, customers, complete FROM tpcc_load')[0];
  } catch (e) {
    throw new Error(`schema ${schema} cannot be used (${e.message}): load it with: assay-lab tpcc load --warehouses N --schema ${schema}`);
  }
  if (!loaded || !loaded.complete) {
    throw new Error(`the load of schema ${schema} is not complete: run assay-lab tpcc load --warehouses N --schema ${schema}`);
  }
  return { warehouses: loaded.warehouses, items: loaded.items, customers: loaded.customers };
}

// transact is one transaction of the mix. db has the method transaction, as lib/sql.js
// makes it; id is the transaction's identity, and scale the result of scaleOf.
export function transact(db, scale, random, id) {
  const name = weighted(random, mix);
  const began = now();
  // Drawn before the first try: a retry sends the same transaction.
  const work = transactions[name](scale, random);
  let attempt = 0;
  for (;;) {
    try {
      const committed = db.transaction((c) => {
        const writes = work(c);
        if (writes) {
          c.exec('INSERT INTO tpcc_ledger (id, run_id) VALUES (?, ?)', id, run());
        }
        return writes;
      });
      if (committed) {
        ack(id);
      }
      break;
    } catch (e) {
      if (e === intended) {
        break;
      }
      const conflict = e.rolledBack || e.class === 'lock wait timeout'; // then transaction() has rolled back
      if (!conflict || attempt === maxRetries) {
        throw e;
      }
      retries.add(1, { name });
      attempt++;
    }
  }
  retried.add(attempt > 0);
  duration.add(now() - began, { name });
}

// intended ends the 1 % of New-Orders that the specification rolls back: they are
// completed transactions.
const intended = new Error('rolled back as intended');

// transactions draw their input, and return what sends it. That returns whether it has
// written something.
const transactions = { new_order: newOrder, payment, order_status: orderStatus, delivery, stock_level: stockLevel };

function nonUniform(random, a, constant, low, high) {
  return (((integer(random, 0, a) | integer(random, low, high)) + constant) % (high - low + 1)) + low;
}

const syllables = ['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING'];

function lastName(number) {
  return syllables[Math.floor(number / 100)] + syllables[Math.floor(number / 10) % 10] + syllables[number % 10];
}

const customerOf = (scale, random) => nonUniform(random, 1023, constants.customer, 1, scale.customers);

const otherWarehouse = (scale, random, home) => ((home - 1 + integer(random, 1, scale.warehouses - 1)) % scale.warehouses) + 1;

// whoever is a customer: 60 % by last name, 40 % by number.
function whoever(scale, random) {
  if (random() < 0.6) {
    const names = Math.min(1000, scale.customers);
    return { last: lastName(nonUniform(random, 255, constants.name, 0, names - 1)) };
  }
  return { id: customerOf(scale, random) };
}

// find is the number of a customer: of several with a name, the middle one by first name.
function find(c, who, w, d) {
  if (who.id) {
    return who.id;
  }
  const all = c.query('SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first', w, d, who.last);
  if (all.length === 0) {
    throw new Error(`no customer ${who.last} in district ${d} of warehouse ${w}`);
  }
  return all[Math.ceil(all.length / 2) - 1].c_id;
}

// one is the only row of a query.
function one(c, statement, ...args) {
  const rows = c.query(statement, ...args);
  if (rows.length !== 1) {
    throw new Error(`${rows.length} rows of ${statement} with ${args.join(', ')}`);
  }
  return rows[0];
}

const two = (n) => String(n).padStart(2, '0');

// Clause 2.4.
function newOrder(scale, random) {
  const w = integer(random, 1, scale.warehouses);
  const d = integer(random, 1, districts);
  const customer = customerOf(scale, random);
  const lines = [];
  for (let left = integer(random, 5, 15); left > 0; left--) {
    const remote = scale.warehouses > 1 && random() < 0.01;
    lines.push({
      item: nonUniform(random, 8191, constants.item, 1, scale.items),
      supplier: remote ? otherWarehouse(scale, random, w) : w,
      quantity: integer(random, 1, 10),
    });
  }
  if (random() < 0.01) {
    lines[lines.length - 1].item = scale.items + 1; // unused: the order is rolled back
  }
  const local = lines.every((line) => line.supplier === w);

  return (c) => {
    one(c, 'SELECT w_tax, c_discount, c_last, c_credit FROM warehouse JOIN customer ON c_w_id = w_id WHERE w_id = ? AND c_d_id = ? AND c_id = ?', w, d, customer);
    const order = one(c, 'SELECT d_next_o_id AS id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE', w, d).id;
    c.exec('UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?', order + 1, w, d);
    c.exec('INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, NOW(), ?, ?)', order, d, w, customer, lines.length, local ? 1 : 0);
    c.exec('INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)', order, d, w);
    lines.forEach((line, i) => {
      const items = c.query('SELECT i_price, i_name, i_data FROM item WHERE i_id = ?', line.item);
      if (items.length === 0) {
        throw intended;
      }
      const stock = one(c, `SELECT s_quantity, s_data, s_dist_${two(d)} AS dist FROM stock WHERE s_w_id = ? AND s_i_id = ? FOR UPDATE`, line.supplier, line.item);
      const left = stock.s_quantity - line.quantity;
      c.exec('UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?',
        left >= 10 ? left : left + 91, line.quantity, line.supplier === w ? 0 : 1, line.supplier, line.item);
      const cents = Math.round(Number(items[0].i_price) * 100) * line.quantity;
      c.exec('INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
        order, d, w, i + 1, line.item, line.supplier, line.quantity, (cents / 100).toFixed(2), stock.dist);
    });
    return true;
  };
}

// Clause 2.5.
function payment(scale, random) {
  const w = integer(random, 1, scale.warehouses);
  const d = integer(random, 1, districts);
  const amount = (integer(random, 100, 500000) / 100).toFixed(2);
  const remote = scale.warehouses > 1 && random() < 0.15;
  const cw = remote ? otherWarehouse(scale, random, w) : w;
  const cd = remote ? integer(random, 1, districts) : d;
  const who = whoever(scale, random);

  return (c) => {
    c.exec('UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?', amount, w);
    const warehouse = one(c, 'SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = ?', w);
    c.exec('UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?', amount, w, d);
    const district = one(c, 'SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = ? AND d_id = ?', w, d);
    const id = find(c, who, cw, cd);
    const customer = one(c, 'SELECT c_first, c_middle, c_last, c_credit, c_credit_lim, c_discount, c_balance, c_since FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE', cw, cd, id);
    const note = customer.c_credit === 'BC' ? `${id} ${cd} ${cw} ${d} ${w} ${amount} | ` : '';
    c.exec(`UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1${note ? ', c_data = LEFT(CONCAT(?, c_data), 500)' : ''} WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?`,
      ...[amount, amount, ...(note ? [note] : []), cw, cd, id]);
    c.exec('INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)', id, cd, cw, d, w, amount, `${warehouse.w_name}    ${district.d_name}`);
    return true;
  };
}

// Clause 2.6.
function orderStatus(scale, random) {
  const w = integer(random, 1, scale.warehouses);
  const d = integer(random, 1, districts);
  const who = whoever(scale, random);

  return (c) => {
    const id = find(c, who, w, d);
    one(c, 'SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?', w, d, id);
    const order = one(c, 'SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1', w, d, id);
    c.query('SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?', w, d, order.o_id);
    return false;
  };
}

// Clause 2.7, in one transaction, and not deferred. The order is read with a lock, as it
// may be newer than the snapshot of repeatable reads.
function delivery(scale, random) {
  const w = integer(random, 1, scale.warehouses);
  const carrier = integer(random, 1, 10);

  return (c) => {
    let delivered = false;
    for (let d = 1; d <= districts; d++) {
      const oldest = c.query('SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE', w, d);
      if (oldest.length === 0) {
        continue;
      }
      const order = oldest[0].no_o_id;
      c.exec('DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?', w, d, order);
      const customer = one(c, 'SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? FOR UPDATE', w, d, order).o_c_id;
      c.exec('UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?', carrier, w, d, order);
      c.exec('UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?', w, d, order);
      const total = one(c, 'SELECT SUM(ol_amount) AS total FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?', w, d, order).total;
      c.exec('UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?', total, w, d, customer);
      delivered = true;
    }
    return delivered;
  };
}

// Clause 2.8.
function stockLevel(scale, random) {
  const w = integer(random, 1, scale.warehouses);
  const d = integer(random, 1, districts);
  const threshold = integer(random, 10, 20);

  return (c) => {
    const next = one(c, 'SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?', w, d).d_next_o_id;
    c.query('SELECT COUNT(DISTINCT s_i_id) AS low FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? AND s_quantity < ?', w, d, next, next - 20, threshold);
    return false;
  };
}
