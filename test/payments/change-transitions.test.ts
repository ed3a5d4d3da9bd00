import { marshall } from '@aws-sdk/util-dynamodb';
import { expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { parseTransition, transitionRow } from '../../lambdas/payments/store/items.ts';
import { itemSizeBytes } from '../support/bench-item-size.ts';
import { ChangeDesk, change } from '../support/change-desk.ts';
import { paymentRequest } from '../support/payment-fixtures.ts';

const KILOBYTE = 1024;

test('every transition of a typical change costs one write unit, and is read back as it was written', async () => {
  const desk = new ChangeDesk();
  const payment = paymentRequest('sizes', { reference: 'order-2026-03-01-000042' });
  await desk.pay(payment);
  desk.processor.failNextChange(1, 'tok_async');
  const reason = 'Returned: arrived with a broken lid';
  const asked = change(payment, 'k', { kind: 'refund', amountMinor: 300, reason });
  await desk.change(asked);
  desk.processor.inside.setRefund(asked.operationId, 'succeeded');
  await desk.resolveInquiries();

  const { transitions } = await desk.chain(payment);
  const changes = transitions.filter(({ subject }) => subject?.kind === 'refund');
  expect(changes.map(({ type }) => type)).toEqual(['refund.pending', 'refund.pending', 'refund.completed']);
  const sizes = changes.map((transition) =>
    itemSizeBytes(marshall(transitionRow(transition), { removeUndefinedValues: true })),
  );
  for (const bytes of sizes) expect(bytes).toBeLessThanOrEqual(KILOBYTE);
  const read = transitions.map((transition) => parseTransition(transitionRow(transition)));
  expect(firstBrokenLink(systemDigest, read)).toBeUndefined();
});
