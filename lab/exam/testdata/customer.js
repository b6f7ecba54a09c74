// Reads the orders of one customer. One transaction: one SELECT on the VU's single
// connection.

import { iteration } from '../../../scenarios/lib/identity.js';
import { integer, seededRandom } from '../../../scenarios/lib/random.js';
import { connect, database } from '../../../scenarios/lib/sql.js';

const db = connect(database());

export default function () {
  const customer = `customer-${integer(seededRandom(iteration()), 1, 10000)}`;
  const orders = db.query('SELECT id, amount FROM orders WHERE customer = ?', customer);
  if (orders.length === 0) {
    throw new Error(`${customer} has no orders`);
  }
}
