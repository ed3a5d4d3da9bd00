import { beforeEach, describe, expect, test } from '@jest/globals';
import { fingerprintOf } from '../../../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { decidePayment } from '../../../../lambdas/payments/use/decide-payment.ts';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../../../support/causes.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const BOOKS = 'I9 processor and books';

let harness: World;
let world: ReturnType<typeof watched>;
beforeEach(() => {
  harness = new World();
  world = watched(harness);
});

describe('a further charge that names the payment', () => {
  test('is recorded once a callback has told of it', async () => {
    const request = paymentRequest('further');
    await harness.pay(request);
    const { chargeId } = await harness.processor.inside.charge({ paymentId: request.paymentId, amountMinor: 500 });
    const nowMs = harness.clock.nowMs();
    expect(world.atTheEnd()).not.toContain(BOOKS);
    world.callbacks.push({ processor: 'sandbox', chargeId, firstAtMs: nowMs, takenAtMs: nowMs });
    expect(world.atTheEnd()).toContain(BOOKS);
    await harness.deliver(callback('further', chargeId));
    expect(world.atTheEnd()).not.toContain(BOOKS);
  });

  test('is recorded once an operator has decided about the payment', async () => {
    const request = paymentRequest('decided', { source: 'tok_async' });
    await harness.pay(request);
    const own = harness.chargeOf(request);
    await harness.processor.inside.correct(own, { status: 'succeeded', amount_captured: 999 });
    await harness.deliver(callback('review', own));
    await harness.processor.inside.charge({ paymentId: request.paymentId, amountMinor: 500 });
    expect(world.atTheEnd()).not.toContain(BOOKS);
    harness.clock.advance(1_000);
    await decidePayment(harness.tools, {
      cause: BY_OPERATOR,
      operationId: storedOperationId('dec_a'),
      fingerprint: fingerprintOf(harness.tools.digest, { body: {}, query: {} }),
      payment: request.paymentId,
      reason: 'Seen on the statement',
      by: OPERATOR,
      asked: { kind: 'decision', outcome: 'succeeded', takenMinor: 999 },
    });
    expect(world.atTheEnd()).toContain(BOOKS);
    await harness.resolveFor(2);
    expect(world.atTheEnd()).not.toContain(BOOKS);
  });
});
