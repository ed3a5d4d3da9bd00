import { beforeEach, describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { paymentOfEvent } from '../../../../lambdas/payments/ids.ts';
import { paymentRequest } from '../../../payments/payment-fixtures.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const DAY_MS = 24 * 3_600_000;
const EVENT = '0b9c2f60-7d5a-4a7e-9a53-000000000001';

let harness: World;
let world: ReturnType<typeof watched>;
beforeEach(() => {
  harness = new World();
  world = watched(harness);
});

const wrong = () =>
  world.all().flatMap(({ oracle, what }) => (oracle === 'payment requests take effect once' ? [what] : []));

function ask(amount: number, oldMs = 0): string {
  const sentAtMs = harness.clock.nowMs();
  const timestamp = new Date(sentAtMs - oldMs).toISOString();
  const detail = JSON.stringify({ event_id: EVENT, amount, currency: 'EUR', timestamp });
  world.requests.taken.push({ via: 'queue', detail, sentAtMs });
  return detail;
}

/** @param by event id from which the payment's id is derived */
async function pay(by = EVENT): Promise<number> {
  const request = paymentRequest('by-event');
  const paymentId = paymentOfEvent(systemDigest, request, by);
  await harness.pay({ ...request, paymentId, cause: { by: 'event', eventId: EVENT, sender: 'queue:shop' } });
  return request.amountMinor;
}

describe('an event that requests a payment', () => {
  test('may be delivered several times, but creates only one payment', async () => {
    const amount = await pay();
    ask(amount);
    ask(amount);
    expect(wrong()).toEqual([]);
  });

  test('must not create two payments', async () => {
    ask(await pay());
    await pay('another key');
    expect(wrong()).toEqual(['the event created 2 payments']);
  });

  test('must create a payment or be parked', () => {
    ask(700);
    expect(wrong()).toEqual(['the request for 700 is neither paid nor parked']);
  });

  test('must be parked if the payment of its event id has a different amount', async () => {
    await pay();
    const detail = ask(1);
    expect(wrong()).toEqual(['the request for 1 is neither paid nor parked']);
    world.requests.parked.push(detail);
    expect(wrong()).toEqual([]);
  });

  test('must not create a payment when it is older than a day', async () => {
    ask(await pay(), DAY_MS + 1);
    expect(wrong()).toEqual(['the event was charged although it was too old']);
  });
});
