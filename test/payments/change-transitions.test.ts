import { marshall } from '@aws-sdk/util-dynamodb';
import { expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { parseTransition, transitionRow } from '../../lambdas/payments/store/items.ts';
import { itemSizeBytes } from '../bench/bench-item-size.ts';
import { World } from '../world/world.ts';
import { change, paymentRequest } from './payment-fixtures.ts';

const KILOBYTE = 1024;

test('every transition of a typical change fits into a kilobyte (one write unit), and is read back with an unbroken chain', async () => {
  const harness = new World();
  const payment = paymentRequest('sizes', { reference: 'order-2026-03-01-000042' });
  await harness.pay(payment);
  await harness.processor.inside.failNextChange(1, 'tok_async');
  const reason = 'Returned: arrived with a broken lid';
  const asked = change(payment, 'k', { kind: 'refund', amountMinor: 300, reason });
  await harness.change(asked);
  await harness.processor.inside.endRefund(asked.operationId, 'succeeded');
  await harness.resolveInquiries();

  const { transitions } = await harness.chain(payment);
  const changes = transitions.filter(({ subject }) => subject?.kind === 'refund');
  expect(changes.map(({ type }) => type)).toEqual(['refund.pending', 'refund.pending', 'refund.completed']);
  const sizes = changes.map((transition) =>
    itemSizeBytes(marshall(transitionRow(transition), { removeUndefinedValues: true })),
  );
  for (const bytes of sizes) expect(bytes).toBeLessThanOrEqual(KILOBYTE);
  const read = transitions.map((transition) => parseTransition(transitionRow(transition)));
  expect(firstBrokenLink(systemDigest, read)).toBeUndefined();
});
