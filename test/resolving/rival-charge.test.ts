/**
 * The processor has two charges of one operation, and the payment has recorded one of them. The other charge stays in a
 * queue as long as it may still take money.
 */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { resolveClaims } from '../../lambdas/resolving/use/resolve.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { ALL_DUE } from '../support/due.ts';
import { COURSES, DAY_HOURS, OpenObjectsWorld, unanswered } from './open-objects-world.ts';

const MINUTE_MS = 60_000;

let world: OpenObjectsWorld;

beforeEach(() => {
  world = new OpenObjectsWorld();
});

/** @returns the charge id */
async function rival(payment: CreatePayment, source: string): Promise<string> {
  const isDeclined = source === 'declined';
  const token = isDeclined ? 'tok_action' : source;
  const { chargeId } = await world.second(payment, token, chargeOperation(payment.paymentId));
  if (isDeclined) await world.processor.inside.decline(chargeId);
  await world.sendCallback(chargeId);
  return chargeId;
}

async function endsWithoutCallback(payment: CreatePayment, chargeId: string): Promise<void> {
  await world.live(DAY_HOURS);
  await world.processor.inside.approve(chargeId);
  await world.live(2 * DAY_HOURS);
  const { there, booked } = await world.held(payment);
  expect({ booked }).toEqual({ booked: there });
  expect(await world.store.chargesToReturn(ALL_DUE)).toEqual([]);
}

const firstOf = ({ paymentId }: CreatePayment): string => String(world.processor.charges(paymentId)[0]?.chargeId);

/** The processor makes charges, but its responses to charges and look-ups are lost. */
const silent = (): typeof world.processor => {
  const charge: typeof world.processor.charge = (...asked) => world.processor.charge(...asked).then(unanswered);
  return { ...world.processor, charge, findCharge: unanswered };
};

describe.each(['tok_action', 'tok_async', 'tok_ok', 'declined'])(
  'a charge of the owner is tracked, although a rival charge (%s)',
  (source) => {
    test.each(['tok_async', 'tok_action'])('is recorded before the response to %s', async (own) => {
      const payment = paymentRequest('answered', { source: own });
      const store = world.storeWithRival(async () => void (await rival(payment, source)));
      await world.pay(payment, { store });
      await endsWithoutCallback(payment, firstOf(payment));
    });

    test('is recorded before the owner gives up', async () => {
      const payment = paymentRequest('unanswered', { source: 'tok_async' });
      const store = world.storeWithRival(async () => void (await rival(payment, source)));
      await world.pay(payment, { store, processor: silent() });
      await endsWithoutCallback(payment, firstOf(payment));
    });

    test('is recorded after the owner crashed', async () => {
      const payment = paymentRequest('crashed', { source: 'tok_async' });
      await world.claimThenDie(payment, true);
      await rival(payment, source);
      await endsWithoutCallback(payment, firstOf(payment));
    });

    test('is recorded during the takeover of a claim whose charge cannot be looked up', async () => {
      const payment = paymentRequest('taken-over', { source: 'tok_async' });
      await world.claimThenDie(payment, true);
      world.clock.advance(20 * MINUTE_MS);
      const store = world.storeWithRival(async () => void (await rival(payment, source)));
      const processor = {
        ...world.processor,
        abilities: { ...world.processor.abilities, lookup: { kind: 'none' } as const },
      };
      await resolveClaims({ ...world.tools, store, processor });
      expect((await world.chain(payment)).state.payment.chargeId).not.toBe(firstOf(payment));
      await endsWithoutCallback(payment, firstOf(payment));
    });

    test('is recorded after the owner gave up', async () => {
      const payment = paymentRequest('late', { source: 'tok_async' });
      await world.pay(payment, { processor: silent() });
      await rival(payment, source);
      await endsWithoutCallback(payment, firstOf(payment));
    });

    test('is recorded after the response', async () => {
      const payment = paymentRequest('processing', { source: 'tok_async' });
      await world.pay(payment);
      await rival(payment, source);
      await endsWithoutCallback(payment, firstOf(payment));
    });
  },
);

test.each(['processing', 'requires action'] as const)(
  'a second charge of the operation is tracked while the payment is in the state "%s"',
  async (course) => {
    const payment = paymentRequest('second');
    await COURSES[course](world, payment);
    await endsWithoutCallback(payment, await rival(payment, 'tok_async'));
  },
);

test('a payment without a response is no longer an unknown outcome once a look-up shows that it waits for its payer', async () => {
  const payment = paymentRequest('payer', { source: 'tok_action' });
  await world.pay(payment, { processor: silent() });
  expect(await world.store.undetermined(10)).toHaveLength(1);
  await world.live(4);
  expect((await world.chain(payment)).state.payment.status).toBe('requires_action');
  expect(await world.store.undetermined(10)).toEqual([]);
  expect(await world.store.routineInquiries(ALL_DUE)).toMatchObject([{ waitsFor: 'payer' }]);
  await world.processor.inside.approve(firstOf(payment));
  await world.live(1);
  expect((await world.chain(payment)).state.payment.status).toBe('succeeded');
  expect(await world.store.inquiries()).toEqual([]);
});
