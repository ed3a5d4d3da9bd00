import { expect, test } from '@jest/globals';
import { paymentRequest } from '../../../payments/payment-fixtures.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const MINUTE_MS = 60_000;

test('a contradiction raises its alarm once for each state of the books and of the chain', async () => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('contradicted');
  await harness.pay(request);
  await harness.processor.inside.correct(harness.chargeOf(request), { status: 'declined', amount_captured: 0 });
  const again = (minutes: number): void =>
    void world.alarms.push({
      metric: 'contradiction',
      about: request.paymentId,
      atMs: harness.clock.nowMs() + minutes * MINUTE_MS,
      count: 1,
      dimensions: {},
    });
  // Two processes find it at the same time. The charge and its correction are two states, and the chain has two transitions.
  for (const minutes of [0, 0.1, 5, 10, 15]) again(minutes);
  expect(world.atTheEnd()).not.toContain('an alarm is raised once for each event');
  again(20);
  expect(world.atTheEnd()).toContain('an alarm is raised once for each event');
});
