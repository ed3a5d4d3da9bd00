import { expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import {
  nextOrderTransitions,
  type OrderTransition,
  storedOrderDetails,
} from '../../lambdas/orders/domain/order-transition.ts';
import { orderOperation, paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { orderPartition } from '../../lambdas/orders/store/order-items.ts';
import { ORDER_CHAIN } from '../../lambdas/orders/store/postgres-orders.ts';
import { PAYMENT_CHAIN } from '../../lambdas/payments/store/postgres-carrier.ts';
import { openRecord } from '../payments/payment-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { orderRequest } from './order-fixtures.ts';
import { draftsOf, firstOf } from './order-store-suite.ts';

const SALT = new Uint8Array(16);
const EMAIL_HASH = 'abcdefghabcdefghabcdefghabcdefgh';

function stored({ first, ...transition }: OrderTransition): Record<string, unknown> {
  return { ...transition, ...(first === undefined ? {} : { first: storedOrderDetails(first) }) };
}

test('the copies of an order equal the rows that the DynamoDB store writes', async () => {
  const { orderId, email, referrer } = orderRequest('copied');
  const { first: details, ...plain } = firstOf(orderId);
  if (details === undefined) throw new Error('the order has no details');
  const first = { ...plain, first: { ...details, emailHash: EMAIL_HASH } };
  const more = nextOrderTransitions(systemDigest, first, draftsOf(first), requestedAt(first.occurredAtMs + 5));
  const stores = new Stores();
  const record = openRecord(paymentOfOrder(systemDigest, orderId), { operationId: orderOperation(orderId) });
  await stores.claimOrder({ record, first });
  await stores.appendToOrder({ transitions: more });

  expect([ORDER_CHAIN.owns(orderId), PAYMENT_CHAIN.owns(orderId)]).toEqual([true, false]);
  const rows = [first, ...more].map((transition) => ORDER_CHAIN.rowOf(stored(transition)));
  expect(rows).toEqual(stores.database.items(TABLES.ledger, orderPartition(orderId)));
  const notes = { part: 'DETAILS', salt: SALT, details: { email, referrer }, emailHash: EMAIL_HASH };
  const put = ORDER_CHAIN.detailsOf(TABLES, stored(first), notes);
  expect([put.Put?.Item]).toEqual(stores.database.items(TABLES.registry, `DETAILS#${orderId}`));
});
