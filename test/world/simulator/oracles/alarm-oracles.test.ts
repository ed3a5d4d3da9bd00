import { expect, test } from '@jest/globals';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
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

test.each([
  ['a callback that is taken', true, ['I9 processor and books']],
  ['a look only', false, []],
])('a contradiction that comes back raises its alarm again if it is found by %s', async (_by, isTaken, violated) => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('again');
  await harness.pay(request);
  const chargeId = harness.chargeOf(request);
  const { inside } = harness.processor;
  const alarm = { metric: 'contradiction', about: request.paymentId, count: 1, dimensions: {} };
  const raised = (): void => void world.alarms.push({ ...alarm, atMs: harness.clock.nowMs() });
  const void_ = { status: 'voided', amount_captured: 0 } as const;
  await inside.correct(chargeId, void_);
  raised();
  await inside.correct(chargeId, { status: 'succeeded', amount_captured: request.amountMinor });
  harness.clock.advance(60 * MINUTE_MS);
  await inside.correct(chargeId, void_);
  await harness.deliver(callback('again', chargeId));
  const nowMs = harness.clock.nowMs();
  world.callbacks.push({ processor: 'sandbox', chargeId, firstAtMs: nowMs, ...(isTaken ? { takenAtMs: nowMs } : {}) });
  // A look reads the charge, whatever became of the callback.
  await harness.processor.readCharge(chargeId, { timeoutMs: 5_000 });
  expect(world.atTheEnd()).toEqual(violated);
  raised();
  expect(world.atTheEnd()).toEqual([]);
});
