import { expect, test } from '@jest/globals';
import { ViewsRow } from '../../../lambdas/kernel/contract/rows.ts';
import { sliceOf } from '../../support/slice.ts';
import { TABLES } from '../tables.ts';
import type { FunctionName } from './functions.ts';
import { SimulatedSystem } from './system.ts';

const MINUTE_MS = 60_000;
/** The goal is 2,000 events a second. Of the rate, only the lengths of the queues depend here. */
const PAYMENTS_A_MINUTE = 2;
const OUTAGE_MINUTES = 60;
const PAYMENTS = OUTAGE_MINUTES * PAYMENTS_A_MINUTE;
/** A job has run before, as in every deployment that is older than some minutes. Minutes. */
const BEGINS_AT = 7;

const throttled = (name: FunctionName) => (system: SimulatedSystem, isAway: boolean) => {
  if (isAway) system.account.throttled.add(name);
  else system.account.throttled.delete(name);
};

const bus = (system: SimulatedSystem, isAway: boolean) => system.partyUp('bus', !isAway);

/** Payments during an hour without a part of the event path, and two hours after it, with the job that publishes lost events every five minutes. */
async function anHourWithout(away: (system: SimulatedSystem, isAway: boolean) => void, minutes = OUTAGE_MINUTES) {
  const endsAt = BEGINS_AT + minutes;
  const system = await SimulatedSystem.begin(1);
  const minute = (number: number): number => system.simulation.nowMs + number * MINUTE_MS;
  const startMs = minute(0);
  for (let number = 0; number < PAYMENTS; number += 1) {
    const order = { step: 1, tenant: 'studio', method: 'POST', path: '/v1/payments', key: `p-${number}` } as const;
    const body = { amount: 1000, currency: 'EUR', source: 'tok_ok' };
    const atMs = startMs + Math.floor((BEGINS_AT + number / PAYMENTS_A_MINUTE) * MINUTE_MS) + 1;
    system.at(atMs, `payment ${number}`, async () => void (await system.api({ ...order, body })));
  }
  system.at(minute(BEGINS_AT), 'away', () => away(system, true));
  system.at(minute(endsAt), 'back', () => away(system, false));
  for (let number = 5; number <= endsAt + 120; number += 5)
    system.at(minute(number), 'job', () => system.runJob('republish-events'));
  const projected = (): number => system.database.items(TABLES.views, ViewsRow.projected).length;

  await system.run(startMs + endsAt * MINUTE_MS - 1);
  const during = { published: system.published.length, projected: projected() };
  await system.run(startMs + (endsAt + 120) * MINUTE_MS);
  const published = new Map<string, number>();
  for (const { detail } of system.published) {
    const { id } = (detail as { readonly event: { readonly id: string } }).event;
    published.set(id, (published.get(id) ?? 0) + 1);
  }
  const left = Object.fromEntries(Object.entries(system.queues).filter(([, messages]) => messages > 0));
  return { during, times: [...published.values()], projected: projected(), left, crowds: system.crowds };
}

const once = Array.from({ length: PAYMENTS }, () => 1);

const OUTAGES: readonly (readonly [string, () => Promise<void>])[] = [
  [
    'after an hour without the projector, each event of the hour was published and is projected once, and no message is dead',
    async () => {
      const { during, times, projected, left, crowds } = await anHourWithout(throttled('views-projector'));
      expect(during).toEqual({ published: PAYMENTS, projected: 0 });
      expect({ times, projected, left }).toEqual({ times: once, projected: PAYMENTS, left: {} });
      // Each waited in the queue, once.
      expect(crowds['views-projector']).toBe(PAYMENTS);
    },
  ],
  [
    'an hour without the relay is bridged by the job: each event is published by it and by the relay, and nothing is parked',
    async () => {
      const { during, times, projected, left } = await anHourWithout(throttled('outbox-relay'));
      // All but those of the last minutes.
      expect(during.projected).toBeGreaterThan(PAYMENTS - 9 * PAYMENTS_A_MINUTE);
      expect({ most: Math.max(...times), events: times.length }).toEqual({ most: 2, events: PAYMENTS });
      expect({ projected, left }).toEqual({ projected: PAYMENTS, left: {} });
    },
  ],
  [
    'after an hour without the bus, each event of the hour was published by the relay once and is projected once, and nothing is parked',
    async () => {
      const { during, times, projected, left } = await anHourWithout(bus);
      expect(during).toEqual({ published: 0, projected: 0 });
      expect({ times, projected, left }).toEqual({ times: once, projected: PAYMENTS, left: {} });
    },
  ],
  [
    'three hours without the bus are longer than the relay keeps events: the job publishes the old ones, the relay the others, and nothing is parked',
    async () => {
      const { during, times, projected, left } = await anHourWithout(bus, 3 * OUTAGE_MINUTES);
      expect(during).toEqual({ published: 0, projected: 0 });
      expect({ times, projected, left }).toEqual({ times: once, projected: PAYMENTS, left: {} });
    },
  ],
];

test.each(sliceOf(OUTAGES, 4))('%s', (_what, outage) => outage());
