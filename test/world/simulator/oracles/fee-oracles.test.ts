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
