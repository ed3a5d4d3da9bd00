import { expect, test } from '@jest/globals';
import type { Charge } from '../../../../lambdas/processors/sandbox/sandbox-api.ts';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

test.each<[string, (charge: Charge) => Partial<Charge>]>([
  ['of a payment’s own charge', () => ({ fee: 60 })],
  ['of a dispute', ({ disputes }) => ({ disputes: disputes.map((dispute) => ({ ...dispute, fee: 1_500 })) })],
  ['in a different currency', () => ({ fee_currency: 'USD' })],
])('the fee %s must be posted after Payonce read the charge', async (_what, changed) => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('fee', { source: 'tok_fee' });
  await harness.pay(request);
  const chargeId = harness.chargeOf(request);
  const { inside } = harness.processor;
  await inside.dispute(chargeId, 400);
  await harness.deliver(callback('dispute', chargeId));
  expect(world.atTheEnd()).toEqual([]);
  await inside.correct(chargeId, changed(await inside.read(chargeId)));
  expect(world.atTheEnd()).toEqual([]);
  // Simulate an inquiry that reads the charge but posts nothing.
  await harness.processor.readCharge(chargeId, { timeoutMs: 5_000 });
  expect(world.atTheEnd()).toEqual(['the fee of a charge is posted']);
  await harness.deliver(callback('fee', chargeId));
  expect(world.atTheEnd()).toEqual([]);
});

test('after the charge’s metadata was changed to name another payment, a posted fee may differ from the books only if an alarm was raised', async () => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('renamed', { source: 'tok_fee' });
  await harness.pay(request);
  const chargeId = harness.chargeOf(request);
  const { metadata } = await harness.processor.inside.read(chargeId);
  await harness.processor.inside.correct(chargeId, {
    fee: 0,
    metadata: { ...metadata, payment: paymentRequest('other').paymentId },
  });
  await harness.processor.readCharge(chargeId, { timeoutMs: 5_000 });
  const ofFees = () => world.atTheEnd().filter((name) => name === 'the fee of a charge is posted');
  expect(ofFees()).toHaveLength(1);
  const { paymentId: about } = request;
  world.alarms.push({ metric: 'contradiction', about, atMs: harness.clock.nowMs(), count: 1, dimensions: {} });
  expect(ofFees()).toEqual([]);
});
