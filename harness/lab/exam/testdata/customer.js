// What a customer's page asks of the database: the orders of one customer. One
// transaction: one SELECT on the one connection of the VU.

import { iteration } from '../../../../scenarios/lib/identity.js';
import { generator, integer } from '../../../../scenarios/lib/random.js';
import { writer } from '../../../../scenarios/lib/sql.js';

const db = writer();

export default function () {
  const customer = `customer-${integer(generator(iteration()), 1, 10000)}`;
  const orders = db.query('SELECT id, amount FROM orders WHERE customer = ?', customer);
  if (orders.length === 0) {
    throw new Error(`${customer} has no orders`);
  }
}
