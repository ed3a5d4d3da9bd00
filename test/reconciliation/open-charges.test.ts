import { beforeEach, describe, expect, test } from '@jest/globals';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { ReconcileHarness } from './reconcile-harness.ts';

let harness: ReconcileHarness;

beforeEach(() => {
  harness = new ReconcileHarness();
});

describe('an open charge with a lost callback', () => {
  test.each([
    ['a hold of a failed payment', { status: 'authorized', amount_captured: 0 }],
    ['a pending charge of a failed payment', { status: 'pending', amount_captured: 0 }],
  ] as const)('is queued for a look-up: %s', async (_name, changes) => {
    const id = await harness.paid('open', { source: 'tok_declined' });
    const { chargeId } = harness.chargeOf(id);
    await harness.inside.correct(chargeId, changes);
    await harness.recent();
    expect(await harness.store.inquiries()).toMatchObject([{ operationId: chargeId, waitsFor: 'bank' }]);
  });

  test('is queued within a day: a pending second charge of a payment', async () => {
    const paymentId = await harness.paid('two');
    const operationId = storedOperationId('by-hand');
    const second = { operationId, paymentId, amountMinor: 1000, currency: 'EUR', source: 'tok_async' };
    const { chargeId } = await harness.inside.charge(second);
    await harness.mismatches();
    expect(await harness.store.inquiries()).toMatchObject([{ operationId: chargeId, waitsFor: 'bank' }]);
  });
});
