import { beforeEach, expect, test } from '@jest/globals';
import { change, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const ORACLE = 'only supported changes are sent';

let harness: World;
let world: ReturnType<typeof watched>;
beforeEach(() => {
  harness = new World();
  world = watched(harness);
});

const without = (list: string): void => void Object.assign(world.world, { settings: { emailsADay: 1, without: list } });
const isFound = (): boolean => world.now().includes(ORACLE);

test.each([
  ['refunds', 1000, true],
  ['refunds', 300, true],
  ['partial-refunds', 1000, false],
  ['partial-refunds', 300, true],
  ['holds,partial-captures', 300, false],
])('at a processor without %s, a refund of %i of 1000 is a violation: %s', async (list, amountMinor, isWrong) => {
  const request = paymentRequest('refunded');
  await harness.pay(request);
  await harness.change(change(request, 'part', { kind: 'refund', amountMinor }));
  expect(isFound()).toBe(false);
  without(list);
  expect(isFound()).toBe(isWrong);
});

test.each([
  ['partial-captures', 300, true],
  ['partial-captures', 1000, false],
  ['holds', 1000, true],
  ['refunds', 300, false],
])('at a processor without %s, a capture of %i of 1000 is a violation: %s', async (list, amountMinor, isWrong) => {
  const request = paymentRequest('captured', { capture: 'manual' });
  await harness.pay(request);
  await harness.change(change(request, 'part', { kind: 'capture', amountMinor }));
  without(list);
  expect(isFound()).toBe(isWrong);
});
