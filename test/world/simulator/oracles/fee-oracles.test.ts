import { expect, test } from '@jest/globals';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

test('the fee of a payment’s own charge is posted once the charge was read', async () => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('fee', { source: 'tok_fee' });
  await harness.pay(request);
  expect(world.atTheEnd()).toEqual([]);
  const chargeId = harness.chargeOf(request);
  await harness.processor.inside.correct(chargeId, { fee: 60 });
  expect(world.atTheEnd()).toEqual([]);
  // A look reads the charge, and nothing is posted.
  await harness.processor.readCharge(chargeId, { timeoutMs: 5_000 });
  expect(world.atTheEnd()).toEqual(['the fee of a charge is posted']);
  await harness.deliver(callback('fee', chargeId));
  expect(world.atTheEnd()).toEqual([]);
});
