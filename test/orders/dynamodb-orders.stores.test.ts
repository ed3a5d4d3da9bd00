import { beforeAll, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { DynamoDbOrders } from '../../lambdas/orders/store/dynamodb-orders.ts';
import { createOrder } from '../../lambdas/orders/use/create-order.ts';
import { DynamoDbEffects } from '../../lambdas/payments/store/dynamodb-effects.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { DynamoDbUnfinishedWork } from '../../lambdas/resolving/store/dynamodb-unfinished.ts';
import { DynamoDbLedgerReader } from '../../lambdas/views/store/ledger-reader.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { answerOf, OrderDesk, orderRequest } from '../support/order-desk.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeOrderStore } from './order-store-suite.ts';

let tables: Awaited<ReturnType<typeof createTables>>;
beforeAll(async () => {
  tables = await createTables('orders');
});

const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };

function stores() {
  const client = documentClient(dynamoDbClient());
  const payments = new DynamoDbStore(client, tables, pacing);
  return {
    payments,
    effects: new DynamoDbEffects(client, tables, pacing, payments),
    orders: new DynamoDbOrders(client, tables, pacing, payments),
    work: new DynamoDbUnfinishedWork(client, tables, pacing, payments),
    ledger: new DynamoDbLedgerReader(client, tables.ledger, pacing),
  };
}

describeOrderStore('dynamodb', async () => stores());

test('the books are read as if the orders beside them were not there', async () => {
  const { payments, orders, ledger } = stores();
  const desk = new OrderDesk();
  const request = orderRequest(`books-${process.pid}`);
  expect(answerOf(await createOrder({ ...desk.tools, store: payments, orders }, request)).status).toBe(201);
  const { tenantId, mode } = request;
  const entries = await ledger.entries({ tenantId, mode, limit: 100 });
  expect(new Set(entries.map(({ paymentId }) => paymentId)).size).toBe(1);
  const clearing = (await ledger.balances({ tenantId, mode })).find(({ account }) => account === 'processor_clearing');
  expect(clearing).toMatchObject({ currency: 'EUR' });
});
