import { beforeEach, describe, expect, test } from '@jest/globals';
import { chargeOperation } from '../../lambdas/kernel/ids.ts';
import { CallbackDesk, callback } from '../support/callback-desk.ts';
import { paymentIdFor, paymentRequest } from '../support/payment-fixtures.ts';

const HOUR_MS = 60 * 60_000;

let desk: CallbackDesk;
beforeEach(() => {
  desk = new CallbackDesk();
});

describe('a callback that finds no payment', () => {
  const stray = (paymentId = paymentIdFor('nowhere')) =>
    desk.processor.inside.add(
      {
        operationId: chargeOperation(paymentId),
        paymentId,
        amountMinor: 1000,
        currency: 'EUR',
        source: 'tok_ok',
        capture: 'automatic',
      },
      'succeeded',
    ).chargeId;

  test('is stored as an orphan without a posting, and retried until its payment exists', async () => {
    const request = paymentRequest('late-payment');
    const charge = stray(request.paymentId);
    expect(await desk.deliver(callback('evt_1', charge))).toEqual({ kind: 'orphaned', reason: 'payment_unknown' });
    expect(await desk.deliver(callback('evt_1', charge))).toEqual({ kind: 'redelivered' });
    expect(await desk.retryOrphans()).toMatchObject({ waiting: 1, adopted: 0 });
    desk.processor.failNext(1, 'tok_timeout_not_charged');
    await desk.pay(request);
    expect(await desk.retryOrphans()).toMatchObject({ adopted: 1, waiting: 0 });
    expect((await desk.chain(request)).state.payment.status).toBe('succeeded');
    expect(await desk.retryOrphans()).toMatchObject({ adopted: 0, waiting: 0 });
  });

  test('is given up after a day, and kept for an operator', async () => {
    await desk.deliver(callback('evt_1', stray()));
    desk.clock.advance(24 * HOUR_MS - 1);
    expect(await desk.retryOrphans()).toMatchObject({ waiting: 1, givenUp: 0 });
    desk.clock.advance(1);
    expect(await desk.retryOrphans()).toMatchObject({ waiting: 0, givenUp: 1 });
    expect(await desk.retryOrphans()).toMatchObject({ adopted: 0, waiting: 0, givenUp: 0 });
  });

  test('does not delay other orphans when the processor fails for it', async () => {
    await desk.deliver(callback('evt_1', stray()));
    desk.processor.switchCircuit('open');
    expect(await desk.retryOrphans()).toMatchObject({ failed: 1 });
    desk.processor.switchCircuit('closed');
    expect(await desk.retryOrphans()).toMatchObject({ waiting: 1 });
  });

  test('does not delay other orphans when every retry throws, and is given up after a day nevertheless', async () => {
    const request = paymentRequest('behind-poison');
    await desk.deliver(callback('evt_poison', stray(paymentIdFor('poison'))));
    await desk.deliver(callback('evt_good', stray(request.paymentId)));
    desk.processor.failNext(1, 'tok_timeout_not_charged');
    await desk.pay(request);
    const poisoned = desk.processor.charges(paymentIdFor('poison'))[0]?.chargeId;
    const books = {
      ...desk.processor,
      readCharge: async (...call: Parameters<typeof desk.processor.readCharge>) => {
        if (call[0] === poisoned) throw new Error('a bug');
        return desk.processor.readCharge(...call);
      },
    };
    expect(await desk.retryOrphans({ books: [books] })).toMatchObject({ adopted: 1, failed: 1 });
    expect(desk.reported).toMatchObject([{ message: 'a bug' }]);
    desk.clock.advance(24 * HOUR_MS);
    expect(await desk.retryOrphans({ books: [books] })).toMatchObject({ givenUp: 1 });
  });

  test('leaves time for recent orphans when there are many old ones', async () => {
    for (let count = 0; count < 150; count += 1) await desk.deliver(callback(`evt_${count}`, `ch_hopeless_${count}`));
    desk.clock.advance(2 * HOUR_MS + 60_000);
    const request = paymentRequest('young');
    await desk.deliver(callback('evt_young', stray(request.paymentId)));
    desk.processor.failNext(1, 'tok_timeout_not_charged');
    await desk.pay(request);
    expect(await desk.retryOrphans()).toMatchObject({ adopted: 1, waiting: 150 });
  });

  test('for a charge that the processor does not have is one', async () => {
    expect(await desk.deliver(callback('evt_1', 'ch_none'))).toEqual({ kind: 'orphaned', reason: 'charge_unknown' });
  });

  test('from another account than the payment was sent to is one', async () => {
    const request = paymentRequest('other-account', { source: 'tok_async' });
    await desk.pay(request);
    const charge = desk.chargeOf(request);
    desk.processor.inside.succeed(charge);
    const books = { ...desk.processor, account: 'another' };
    expect(await desk.deliver(callback('evt_1', charge), { books })).toEqual({
      kind: 'orphaned',
      reason: 'other_account',
    });
    expect((await desk.chain(request)).state.payment.status).toBe('processing');
  });
});
