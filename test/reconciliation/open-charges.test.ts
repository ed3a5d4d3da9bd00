import { beforeEach, describe, expect, test } from '@jest/globals';
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
});
