import { expect, test } from '@jest/globals';
import type { SandboxEvent } from '../../../lambdas/processors/sandbox/sandbox-api.ts';
import type { History, RunningSystem } from './contract.ts';
import { lengthOf, perform, type StepEnd } from './perform.ts';
import { fractionOf } from './random.ts';

const HABITS = { processor: 'sandbox', lost: 0, doubled: 0, late: 0, slow: 0, lateMs: 3_600_000 };
const PAYMENTS = Array.from({ length: 200 }, (_, index) => `pay_${index}`);

interface Delivery {
  readonly payment: string;
  readonly afterMs: number;
}

/** The minimal system has only a clock, and responds to each callback with `status`. */
async function play(
  steps: History['steps'],
  status: (delivery: Delivery) => number = () => 200,
): Promise<{ readonly ends: readonly StepEnd[]; readonly deliveries: readonly Delivery[] }> {
  let take: (processor: string, event: SandboxEvent) => void = () => {};
  const timers: { readonly atMs: number; readonly what: () => void | Promise<void> }[] = [];
  const deliveries: Delivery[] = [];
  const system = {
    nowMs: 0,
    decide: (label: string) => fractionOf(7, label),
    at: (atMs: number, _name: string, what: () => void | Promise<void>) => void timers.push({ atMs, what }),
    onCallback: (given: typeof take) => {
      take = given;
    },
    onLater: () => {},
    callback: async (_processor: string, event: SandboxEvent) => {
      const delivery = { payment: String(event.data.payment), afterMs: system.nowMs - 1_000 };
      deliveries.push(delivery);
      return status(delivery);
    },
  };
  // This system has only the members that callbacks and the act `habits` use.
  const ends = perform(system as unknown as RunningSystem, { seed: 7, profile: 'bank', steps, muted: [] });
  system.at(1_000, 'events', () => {
    for (const payment of PAYMENTS)
      take('sandbox', {
        id: `evt_${payment}`,
        object: 'event',
        type: 'charge.succeeded',
        livemode: false,
        created: 1,
        data: { charge: 'ch_1', payment },
      });
  });
  for (let left = 10_000; timers.length > 0 && left > 0; left -= 1) {
    timers.sort((one, other) => other.atMs - one.atMs);
    const next = timers.pop();
    system.nowMs = next?.atMs ?? 0;
    await next?.what();
  }
  return { ends, deliveries };
}

const habits = (changes: Partial<typeof HABITS>): History['steps'] => [
  { id: 1, atMs: 0, actor: 'bank', act: 'habits', ...HABITS, ...changes },
];

test('each callback is delivered once and immediately by default', async () => {
  const { deliveries } = await play([]);
  expect(deliveries.map(({ payment }) => payment).toSorted()).toEqual(PAYMENTS.toSorted());
  expect(Math.max(...deliveries.map(({ afterMs }) => afterMs))).toBeLessThanOrEqual(50);
});

test('callbacks are lost, duplicated and delayed at the rates that the act "habits" sets, and later callbacks overtake delayed ones', async () => {
  const lost = await play(habits({ lost: 0.5 }));
  expect(lost.ends).toMatchObject([{ end: 'done' }]);
  expect(Math.abs(lost.deliveries.length - 100)).toBeLessThan(25);
  const doubled = await play(habits({ doubled: 0.5 }));
  expect(Math.abs(doubled.deliveries.length - 300)).toBeLessThan(25);
  const { deliveries } = await play(habits({ late: 0.5 }));
  const late = deliveries.filter(({ afterMs }) => afterMs > 50);
  expect(Math.abs(late.length - 100)).toBeLessThan(25);
  expect(Math.max(...late.map(({ afterMs }) => afterMs))).toBeGreaterThan(1_800_000);
  expect(deliveries.map(({ payment }) => payment)).not.toEqual(PAYMENTS);
});

test('a callback that is not accepted is retried for three days, then dropped', async () => {
  const { deliveries } = await play([], ({ payment }) => (payment === 'pay_3' ? 503 : 204));
  const again = deliveries.filter(({ payment }) => payment === 'pay_3');
  expect(again).toHaveLength(10);
  expect(Math.round((again.at(-1)?.afterMs ?? 0) / 3_600_000)).toBe(72);
  expect(deliveries).toHaveLength(PAYMENTS.length + 9);
});

test('a history lasts until its last outage has ended', () => {
  const steps = [
    { id: 1, atMs: 5_000, actor: 'world', act: 'party_outage', party: 'mail', forMs: 60_000 },
    { id: 2, atMs: 9_000, actor: 'client', act: 'pay' },
  ];
  expect(lengthOf({ seed: 1, profile: 'orders', steps, muted: [] })).toBe(65_000);
});
