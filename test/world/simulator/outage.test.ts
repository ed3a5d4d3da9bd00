import { expect, test } from '@jest/globals';
import { ViewsRow } from '../../../lambdas/kernel/contract/rows.ts';
import { inTurn, sliceOf } from '../../support/slice.ts';
import { TABLES } from '../tables.ts';
import type { FunctionName } from './functions.ts';
import { SimulatedSystem } from './system.ts';

const MINUTE_MS = 60_000;
/**
 * Number of payments per minute. Payonce's goal is 2,000 events per second, but in this test the rate changes only the
 * queue lengths.
 */
const PAYMENTS_A_MINUTE = 2;
const OUTAGE_MINUTES = 60;
const PAYMENTS = OUTAGE_MINUTES * PAYMENTS_A_MINUTE;
/**
 * Start of the outage, in minutes. By then, the job that publishes lost events has run, as in every deployment older
 * than a few minutes.
 */
const BEGINS_AT = 7;

const throttled = (name: FunctionName) => (system: SimulatedSystem, isAway: boolean) => {
  if (isAway) system.account.throttled.add(name);
  else system.account.throttled.delete(name);
};

const bus = (system: SimulatedSystem, isAway: boolean) => system.partyUp('bus', !isAway);

/** The job that publishes lost events runs every five minutes. */
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
    'after an hour without the projector, each event is published and projected once, and no dead letter remains',
    async () => {
      const { during, times, projected, left, crowds } = await anHourWithout(throttled('views-projector'));
      expect(during).toEqual({ published: PAYMENTS, projected: 0 });
      expect({ times, projected, left }).toEqual({ times: once, projected: PAYMENTS, left: {} });
      expect(crowds['views-projector']).toBe(PAYMENTS);
    },
  ],
  [
    'during an hour without the relay, the job publishes the events; afterwards the relay publishes the same events, and nothing is parked',
    async () => {
      const { during, times, projected, left } = await anHourWithout(throttled('outbox-relay'));
      // During the outage, only the events of the last minutes are not projected yet.
      expect(during.projected).toBeGreaterThan(PAYMENTS - 9 * PAYMENTS_A_MINUTE);
      expect({ most: Math.max(...times), events: times.length }).toEqual({ most: 2, events: PAYMENTS });
      expect({ projected, left }).toEqual({ projected: PAYMENTS, left: {} });
    },
  ],
  [
    'after an hour without the bus, the relay publishes each event once, each event is projected once, and nothing is parked',
    async () => {
      const { during, times, projected, left } = await anHourWithout(bus);
      expect(during).toEqual({ published: 0, projected: 0 });
      expect({ times, projected, left }).toEqual({ times: once, projected: PAYMENTS, left: {} });
    },
  ],
  [
    'after three hours without the bus, the job publishes the events that the relay no longer retries, the relay publishes the rest, and nothing is parked',
    async () => {
      const { during, times, projected, left } = await anHourWithout(bus, 3 * OUTAGE_MINUTES);
      expect(during).toEqual({ published: 0, projected: 0 });
      expect({ times, projected, left }).toEqual({ times: once, projected: PAYMENTS, left: {} });
    },
  ],
];

// Each slice runs exactly one of three tests: this one, flood.test.ts or growth.test.ts.
inTurn(test, { place: 2, of: 3, otherwise: test.skip }).each(sliceOf(OUTAGES, 4))('%s', (_what, outage) => outage());
