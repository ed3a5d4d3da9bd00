import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { checkStored } from './answers.ts';
import { watched } from './watched.ts';

const ORACLE = 'I4 answers say what the chain says';

test('a response that a restore kept may precede its transition, but not otherwise', async () => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('restored', { source: 'tok_async' });
  await harness.pay(request);
  const [row] = harness.store.database.items(TABLES.idempotency, `OP#${request.paymentId}`);
  harness.store.deleteRecord(storedOperationId(request.paymentId));
  const answer = { status: 201, headers: {}, body: '{}' };
  await harness.store.database.client.send(new PutCommand({ TableName: TABLES.idempotency, Item: { ...row, answer } }));
  const restore = { atMs: harness.clock.nowMs() + 60_000, lost: [], named: [] };
  Object.assign(world.world, { restores: [restore] });
  expect(world.atTheEnd()).toContain(ORACLE);
  // An operator repairs a chain that the recovery names.
  Object.assign(world.world, { restores: [{ ...restore, named: [request.paymentId] }] });
  expect(world.atTheEnd()).not.toContain(ORACLE);
  Object.assign(world.world, { restores: [{ ...restore, named: ['pay_other'] }] });
  expect(world.atTheEnd()).toContain(ORACLE);
  harness.clock.advance(120_000);
  const charge = harness.chargeOf(request);
  await harness.processor.inside.approve(charge);
  await harness.deliver(callback('restored', charge));
  expect(world.atTheEnd()).not.toContain(ORACLE);
  Object.assign(world.world, { restores: [{ ...restore, atMs: restore.atMs + 3_600_000 }] });
  expect(world.atTheEnd()).toContain(ORACLE);
});

test.each([
  ['failed', true, false],
  ['failed', false, true],
  ['pending', true, true],
])(
  'a response about a successful refund, which is now %s, is wrong (kept by a restore: %j): %j',
  (status, isKept, isWrong) => {
    const subject = { kind: 'refund', refundId: 'ref_a', status };
    const chain = [{ atMs: isKept ? 1_000 : 0, row: { subject, payment: { status: 'succeeded' } } }] as never;
    const restores = isKept ? [{ atMs: 500, lost: [], named: [] }] : [];
    const stored = { atMs: 0, answer: { status: 201, headers: {}, body: '{}' } } as never;
    expect(checkStored('ref_a', stored, chain, restores).length).toBe(isWrong ? 1 : 0);
  },
);
