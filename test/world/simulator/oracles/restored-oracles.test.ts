import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { LedgerRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { paymentRequest } from '../../../payments/payment-fixtures.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const ORACLE = 'I4 answers say what the chain says';

test('a stored response whose transition was lost in a restore violates an oracle, unless the recovery removes the response or names the chain', async () => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('restored', { source: 'tok_async' });
  await harness.pay(request);
  const operationId = storedOperationId(request.paymentId);
  const [row] = harness.store.database.items(TABLES.idempotency, `OP#${operationId}`);
  harness.store.deleteRecord(operationId);
  const answer = { status: 201, headers: {}, body: '{}' };
  await harness.store.database.client.send(new PutCommand({ TableName: TABLES.idempotency, Item: { ...row, answer } }));
  expect(world.atTheEnd()).toContain(ORACLE);
  // An operator repairs a chain that the recovery names.
  const restore = { atMs: harness.clock.nowMs(), lost: [], named: [request.paymentId] };
  Object.assign(world.world, { restores: [restore] });
  expect(world.atTheEnd()).not.toContain(ORACLE);
  Object.assign(world.world, { restores: [{ ...restore, named: ['pay_other'] }] });
  expect(world.atTheEnd()).toContain(ORACLE);
  Object.assign(world.world, { isRestoring: true });
  harness.store.deleteRecord(operationId);
  Object.assign(world.world, { isRestoring: false });
  expect(world.atTheEnd()).not.toContain(ORACLE);
});

test('a chain without one of its transitions violates an oracle only after the recovery, which may name the chain', async () => {
  const complete = new World();
  const request = paymentRequest('torn');
  await complete.pay(request);
  const [, second] = complete.store.database.items(TABLES.ledger, `${LedgerRow.payment}${request.paymentId}`);
  const restored = new World();
  const world = watched(restored);
  Object.assign(world.world, { isRestoring: true });
  await restored.store.database.client.send(new PutCommand({ TableName: TABLES.ledger, Item: { ...second } }));
  expect(world.now()).toEqual([]);
  const restore = { atMs: restored.clock.nowMs(), lost: [], named: ['pay_other'] };
  Object.assign(world.world, { isRestoring: false, restores: [restore] });
  expect(world.now()).toContain('I8 append only');
});
