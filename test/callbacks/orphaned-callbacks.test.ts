/** Tests the guarantee "accepted callbacks". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { Effect, OrphanedCallback } from '../../lambdas/payments/use/effect-store.ts';
import type { OrphanStore } from '../../lambdas/payments/use/unfinished-work.ts';
import { callback, paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * 60_000;

let harness: World;
beforeEach(() => {
  harness = new World();
});

describe('a callback without a payment', () => {
  const stray = async (paymentId = paymentIdFor('nowhere')) => {
    const order = { operationId: chargeOperation(paymentId), paymentId, amountMinor: 1000 };
    return (await harness.processor.inside.charge(order)).chargeId;
  };

  test('is stored as an orphan, and adopted once its payment exists', async () => {
    const request = paymentRequest('late-payment');
    const charge = await stray(request.paymentId);
    expect(await harness.deliver(callback('evt_1', charge))).toMatchObject({
      kind: 'orphaned',
      reason: 'payment_unknown',
    });
    expect(await harness.deliver(callback('evt_1', charge))).toEqual({ kind: 'redelivered' });
    expect(await harness.retryOrphans()).toMatchObject({ waiting: 1, adopted: 0 });
    await harness.processor.inside.failNext(1, 'tok_timeout_not_charged');
    await harness.pay(request);
    harness.clock.advance(MINUTE_MS);
    expect(await harness.retryOrphans()).toMatchObject({ adopted: 1, waiting: 0 });
    expect((await harness.chain(request)).state.payment.status).toBe('succeeded');
    expect(await harness.retryOrphans()).toMatchObject({ adopted: 0, waiting: 0 });
  });

  test('stays an orphan until the last of its transactions is written', async () => {
    const request = paymentRequest('long');
    const charge = await stray(request.paymentId);
    await harness.deliver(callback('evt_1', charge));
    await harness.processor.inside.failNext(1, 'tok_timeout_not_charged');
    await harness.pay(request);
    for (let count = 0; count < 60; count += 1) await harness.processor.inside.refund(charge, 1);
    let parts = 0;
    const effects = {
      readEffect: harness.store.readEffect.bind(harness.store),
      queueOrNote: harness.store.queueOrNote.bind(harness.store),
      listTransitions: harness.store.listTransitions.bind(harness.store),
      readApproval: harness.store.readApproval.bind(harness.store),
      listApprovals: harness.store.listApprovals.bind(harness.store),
      claimChange: harness.store.claimChange.bind(harness.store),
      recordEffect: (effect: Effect) => {
        parts += 1;
        return parts > 1 ? Promise.reject(new Error('the process crashed')) : harness.store.recordEffect(effect);
      },
    };
    expect(await harness.retryOrphans({ effects })).toMatchObject({ failed: 1 });
    harness.clock.advance(15 * 60_000);
    expect(await harness.retryOrphans()).toMatchObject({ adopted: 1, waiting: 0 });
    expect((await harness.chain(request)).state.refunds.size).toBe(60);
  });

  test('is given up after a day, and no longer retried', async () => {
    await harness.deliver(callback('evt_1', await stray()));
    harness.clock.advance(24 * HOUR_MS - 1);
    expect(await harness.retryOrphans()).toMatchObject({ waiting: 1, givenUp: 0 });
    harness.clock.advance(1);
    expect(await harness.retryOrphans()).toMatchObject({ waiting: 0, givenUp: 1 });
    expect(await harness.retryOrphans()).toMatchObject({ adopted: 0, waiting: 0, givenUp: 0 });
  });

  describe('when it is given up after a day, the alarm', () => {
    const UNKNOWN_CHARGE = 'ch_none';
    let raised: [string, string][];
    const alarm = (what: string, about: string): void => void raised.push([what, about]);
    const retry = (changes: Parameters<World['retryOrphans']>[0] = {}) => harness.retryOrphans({ alarm, ...changes });
    beforeEach(() => {
      raised = [];
    });

    test('is raised if the charge names a payment or is unknown to the processor', async () => {
      const named = await stray();
      await harness.deliver(callback('evt_1', named));
      await harness.deliver(callback('evt_2', UNKNOWN_CHARGE));
      await retry();
      expect(raised).toEqual([]);
      harness.clock.advance(24 * HOUR_MS);
      await retry();
      await retry();
      expect(raised).toHaveLength(2);
      expect(raised).toEqual(expect.arrayContaining([named, UNKNOWN_CHARGE].map((about) => ['undecidable', about])));
    });

    test('is not raised if the charge names no payment, because another application created the charge', async () => {
      const chargeId = await stray();
      await harness.deliver(callback('evt_1', chargeId));
      await harness.processor.inside.correct(chargeId, { metadata: {} });
      harness.clock.advance(24 * HOUR_MS);
      const kept: OrphanedCallback[] = [];
      const orphanStore = {
        waiting: (...read: Parameters<OrphanStore['waiting']>) => harness.store.waiting(...read),
        postponeOrphan: () => Promise.resolve(),
        giveUp: (orphan: OrphanedCallback) => {
          kept.push(orphan);
          return harness.store.giveUp(orphan);
        },
      };
      expect(await retry({ orphanStore })).toMatchObject({ givenUp: 1 });
      expect(raised).toEqual([]);
      expect(kept).toMatchObject([{ event: { chargeId }, isForeign: true }]);
    });

    test('is raised if the callback names a payment, although its charge no longer names one', async () => {
      const paymentId = paymentIdFor('nowhere');
      const chargeId = await stray(paymentId);
      await harness.processor.inside.correct(chargeId, { metadata: {} });
      await harness.deliver({ ...callback('evt_1', chargeId), paymentId });
      harness.clock.advance(24 * HOUR_MS);
      expect(await retry()).toMatchObject({ givenUp: 1 });
      expect(raised).toEqual([['undecidable', chargeId]]);
    });

    test('is not raised if the processor is unavailable then, but showed earlier that another application created the charge', async () => {
      const { chargeId } = await harness.processor.inside.charge({ amountMinor: 1000 });
      await harness.deliver(callback('evt_1', chargeId));
      await harness.processor.inside.goDown();
      harness.clock.advance(24 * HOUR_MS);
      expect(await retry()).toMatchObject({ givenUp: 1 });
      expect(raised).toEqual([]);
    });

    test('is raised even if the process crashes before it records that the callback was given up', async () => {
      await harness.deliver(callback('evt_1', UNKNOWN_CHARGE));
      harness.clock.advance(24 * HOUR_MS);
      const orphanStore = {
        waiting: (...read: Parameters<OrphanStore['waiting']>) => harness.store.waiting(...read),
        postponeOrphan: () => Promise.resolve(),
        giveUp: () => Promise.reject(new Error('the process crashed')),
      };
      expect(await retry({ orphanStore })).toMatchObject({ failed: 1 });
      expect(raised).toEqual([['undecidable', UNKNOWN_CHARGE]]);
    });

    test('is raised even if the processor is no longer configured', async () => {
      await harness.deliver(callback('evt_1', await stray()));
      harness.clock.advance(24 * HOUR_MS);
      await retry({ books: [] });
      expect(raised).toHaveLength(1);
    });
  });

  test('is retried after a minute if the processor was unavailable', async () => {
    await harness.deliver(callback('evt_1', await stray()));
    await harness.processor.inside.goDown();
    expect(await harness.retryOrphans()).toMatchObject({ failed: 1 });
    await harness.processor.inside.recover();
    harness.clock.advance(MINUTE_MS);
    expect(await harness.retryOrphans()).toMatchObject({ waiting: 1 });
  });

  test('does not delay other orphans if each of its own retries throws, and is given up after a day', async () => {
    const request = paymentRequest('behind-poison');
    await harness.deliver(callback('evt_poison', await stray(paymentIdFor('poison'))));
    await harness.deliver(callback('evt_good', await stray(request.paymentId)));
    await harness.processor.inside.failNext(1, 'tok_timeout_not_charged');
    await harness.pay(request);
    const poisoned = harness.processor.charges(paymentIdFor('poison'))[0]?.chargeId;
    const books = {
      ...harness.processor,
      readCharge: async (...call: Parameters<typeof harness.processor.readCharge>) => {
        if (call[0] === poisoned) throw new Error('a bug');
        return harness.processor.readCharge(...call);
      },
    };
    expect(await harness.retryOrphans({ books: [books] })).toMatchObject({ adopted: 1, failed: 1 });
    expect(harness.reported).toMatchObject([{ message: 'a bug' }]);
    harness.clock.advance(24 * HOUR_MS);
    expect(await harness.retryOrphans({ books: [books] })).toMatchObject({ givenUp: 1 });
  });

  test('is retried without waiting for 150 older orphans', async () => {
    for (let count = 0; count < 150; count += 1)
      await harness.deliver(callback(`evt_${count}`, `ch_hopeless_${count}`));
    harness.clock.advance(2 * HOUR_MS + 60_000);
    const request = paymentRequest('young');
    await harness.deliver(callback('evt_young', await stray(request.paymentId)));
    await harness.processor.inside.failNext(1, 'tok_timeout_not_charged');
    await harness.pay(request);
    expect(await harness.retryOrphans()).toMatchObject({ adopted: 1, waiting: 150 });
  });

  test('becomes an orphan when the processor does not know its charge', async () => {
    expect(await harness.deliver(callback('evt_1', 'ch_none'))).toMatchObject({
      kind: 'orphaned',
      reason: 'charge_unknown',
    });
  });
});

test('a callback is recorded on the payment of its charge even if it names a different payment', async () => {
  const [one, other] = [paymentRequest('named'), paymentRequest('charged', { source: 'tok_async' })];
  await harness.pay(one);
  await harness.pay(other);
  const charge = harness.chargeOf(other);
  await harness.processor.inside.approve(charge);
  const event = { ...callback('evt_1', charge), paymentId: one.paymentId };
  expect(await harness.deliver(event)).toMatchObject({ kind: 'recorded', paymentId: other.paymentId });
  expect((await harness.chain(other)).state.payment.status).toBe('succeeded');
  expect(await harness.typesOf(one)).toEqual(['payment.created', 'payment.completed']);
});

test('a callback becomes an orphan if its account differs from the account of the payment', async () => {
  const request = paymentRequest('other-account', { source: 'tok_async' });
  await harness.pay(request);
  const charge = harness.chargeOf(request);
  await harness.processor.inside.approve(charge);
  const books = { ...harness.processor, account: 'another' };
  expect(await harness.deliver(callback('evt_1', charge), { books })).toMatchObject({
    kind: 'orphaned',
    reason: 'other_account',
  });
  expect((await harness.chain(request)).state.payment.status).toBe('processing');
});
