import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import type { ChangePaymentOutcome } from '../../lambdas/payments/use/change-payment.ts';
import type { CreatePaymentOutcome } from '../../lambdas/payments/use/create-payment.ts';
import { change, paymentRequest } from '../payments/payment-fixtures.ts';
import { BEYOND_LEASE_MS } from '../payments/payment-story.ts';
import type { World } from '../world/world.ts';

export interface ErasableWorld {
  readonly world: World;
  erase(paymentId: PaymentId): Promise<void>;
  /** Returns the text of all rows that can contain data of a payment, after all waiting rows have been copied. */
  everything(paymentId: PaymentId): Promise<string>;
}

const TEXT = 'Ada Lovelace';
/** Stands for the keyed hash of an e-mail address. */
const HASH = 'abcdefghabcdefghabcdefghabcdefgh';
const ERASED = { details_erased: true };

let made = 0;

export function describeErasureRaces(name: string, make: () => Promise<ErasableWorld>): void {
  let subject: ErasableWorld;
  let world: World;
  beforeEach(async () => {
    subject = await make();
    ({ world } = subject);
    made += 1;
  });

  const requested = (capture: 'automatic' | 'manual' = 'automatic', source = 'tok_ok') =>
    paymentRequest(`erased-${made}`, { capture, source, description: `For ${TEXT}`, emailHash: HASH });
  const refundOf = (request: ReturnType<typeof requested>, key = 'r') =>
    change(request, key, { kind: 'refund', amountMinor: 300, reason: `Returned by ${TEXT}` });

  async function expectErased(paymentId: PaymentId): Promise<void> {
    const text = await subject.everything(paymentId);
    expect(text).toContain(paymentId);
    expect(text).not.toContain(TEXT);
    expect(text).not.toContain(HASH);
    expect(firstBrokenLink(systemDigest, (await world.chain({ paymentId })).transitions)).toBeUndefined();
  }

  const erasingChange = (paymentId: PaymentId): World['processor'] => ({
    ...world.processor,
    change: async (order, limit) => {
      const answer = await world.processor.change(order, limit);
      await subject.erase(paymentId);
      return answer;
    },
  });

  describe(`personal data in ${name} stays erased after an erasure`, () => {
    test.each([
      ['succeeds', 'tok_ok'],
      ['is refused', 'tok_declined'],
      ['stays pending', 'tok_async'],
    ])('between the claim and the commit of a refund that %s', async (_what, result) => {
      const request = requested();
      await world.pay(request);
      if (result !== 'tok_ok') await world.processor.inside.failNextChange(1, result);
      const refund = refundOf(request);
      const first = await world.change(refund, { processor: erasingChange(request.paymentId) });
      expect(first.kind).toBe('first');
      await expectErased(request.paymentId);
      const again = bodyOf(await world.change(refund));
      expect('refund' in again ? again['refund'] : again).toMatchObject({ reason: null, ...ERASED });
    });

    test.each(['capture', 'cancel'] as const)('between the claim and the commit of a %s', async (kind) => {
      const request = requested('manual');
      await world.pay(request);
      const asked = change(request, 'c', { kind });
      await world.change(asked, { processor: erasingChange(request.paymentId) });
      await expectErased(request.paymentId);
      expect(bodyOf(await world.change(asked))).toMatchObject({ description: null, ...ERASED });
    });

    test('while a second refund is in progress', async () => {
      const request = requested();
      await world.pay(request);
      await world.change(refundOf(request, 'earlier'));
      await world.change(refundOf(request), { processor: erasingChange(request.paymentId) });
      await expectErased(request.paymentId);
    });

    test('between the claim and the commit of a payment that a callback has already settled', async () => {
      const request = requested();
      const charge: World['processor']['charge'] = async (order, limit) => {
        const answer = await world.processor.charge(order, limit);
        await world.learn(request.paymentId);
        await subject.erase(request.paymentId);
        return answer;
      };
      expect(await world.pay(request, { processor: { ...world.processor, charge } })).toMatchObject({ kind: 'first' });
      await expectErased(request.paymentId);
      expect(bodyOf(await world.pay(request))).toMatchObject({ description: null, ...ERASED });
    });

    test('between the claim of an owner that crashed and the takeover', async () => {
      const request = requested();
      await world.pay(request);
      const refund = refundOf(request);
      await world.dieBeforeChange(refund);
      await subject.erase(request.paymentId);
      world.clock.advance(BEYOND_LEASE_MS);
      expect(bodyOf(await world.change(refund))).toMatchObject({ status: 'succeeded', reason: null, ...ERASED });
      await expectErased(request.paymentId);
    });

    test.each(['dieBeforeChange', 'dieAfterChange'] as const)(
      'between the read and the commit of a takeover (%s)',
      async (die) => {
        const request = requested();
        await world.pay(request);
        const refund = refundOf(request);
        await world[die](refund);
        world.clock.advance(BEYOND_LEASE_MS);
        const store = world.storeWithRival(() => subject.erase(request.paymentId));
        expect(await world.change(refund, { store })).toMatchObject({ answer: { status: 201 } });
        await expectErased(request.paymentId);
        expect(bodyOf(await world.change(refund))).toMatchObject({ reason: null, ...ERASED });
      },
    );

    test('before the resolver records the outcome of a refund', async () => {
      const request = requested();
      await world.pay(request);
      const refund = refundOf(request);
      await world.dieAfterChange(refund);
      await subject.erase(request.paymentId);
      await world.learn(request.paymentId);
      expect(await world.typesOf(request)).toContain('refund.completed');
      await expectErased(request.paymentId);
    });
  });
}

function bodyOf(outcome: ChangePaymentOutcome | CreatePaymentOutcome): Record<string, unknown> {
  invariant(outcome.kind === 'first' || outcome.kind === 'replay', `the outcome ${outcome.kind} has no response`);
  return JSON.parse(outcome.answer.body) as Record<string, unknown>;
}
