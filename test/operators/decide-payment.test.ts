import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { type OperationId, type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { decideByOperator } from '../../lambdas/operators/domain/operator-decision.ts';
import { type AskedDecision, type DecidePayment, decidePayment } from '../../lambdas/operators/use/decide-payment.ts';
import { stateAfter } from '../../lambdas/payments/domain/payment-state.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { World } from '../world/world.ts';

let harness: World;
const entropy = countingEntropy();
const request = paymentRequest('decided', { source: 'tok_async' });

/** The payment is in review, because its captured amount differs from the requested amount. */
beforeEach(async () => {
  harness = new World();
  await harness.pay(request);
  const charge = harness.chargeOf(request);
  await harness.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 999 });
  await harness.deliver(callback('evt_1', charge));
});

type Changed = Partial<Omit<AskedDecision, 'kind'> & Pick<DecidePayment, 'payment' | 'reason'>>;

const decide = (key: string, changes: Changed = {}, processor: Processor = harness.processor) => {
  const { payment = request.paymentId, reason = 'Nothing on the statement', ...asked } = changes;
  return decidePayment(
    { ...harness.tools, processor, entropy },
    {
      cause: BY_OPERATOR,
      operationId: storedOperationId(`dec_${key}`),
      fingerprint: fingerprintOf(systemDigest, { body: JSON.parse(JSON.stringify(changes)), query: {} }),
      payment,
      reason,
      by: OPERATOR,
      asked: { kind: 'decision', outcome: 'failed', ...asked },
    },
  );
};

const status = async () => (await harness.chain(request)).state.payment.status;

describe('an operator’s decision', () => {
  test('settles a payment in review once, and records the operator’s name', async () => {
    expect(await status()).toBe('needs_review');
    expect(await decide('a')).toMatchObject({ kind: 'first', answer: { status: 200 } });
    expect(await decide('a')).toMatchObject({ kind: 'replay' });
    const { newest } = await harness.chain(request);
    expect(newest).toMatchObject({
      type: 'payment.failed',
      payment: {
        status: 'failed',
        // The charge was captured, so Payonce refunds the money.
        failure: { code: 'decided_by_operator', message: expect.stringContaining('is returned to the payer') },
      },
      subject: { kind: 'decision', operator: 'Ada Example', reason: 'Nothing on the statement' },
    });
  });

  test('is not repeated by a retry after its record has expired or was lost: the retry is refused because the key is expired', async () => {
    await decide('a');
    const before = await harness.chain(request);
    harness.clock.advance(34 * 24 * 60 * 60 * 1000);
    expect(await decide('a')).toEqual({ kind: 'key_expired', paymentId: request.paymentId });
    harness.store.deleteRecord(storedOperationId('dec_a'));
    expect(await decide('a')).toEqual({ kind: 'key_expired', paymentId: request.paymentId });
    expect(await harness.chain(request)).toEqual(before);
  });

  test('must state the captured amount if its outcome is “succeeded”, and posts that amount instead of the requested amount', async () => {
    expect(await decide('a', { outcome: 'succeeded' })).toEqual({ kind: 'amount_unnamed' });
    expect(await decide('a', { outcome: 'succeeded', takenMinor: 999 })).toMatchObject({ kind: 'first' });
    const { newest } = await harness.chain(request);
    expect(newest.postings).toMatchObject([
      { account: 'processor_clearing', direction: 'debit', amountMinor: 999 },
      { account: 'merchant_payable', direction: 'credit', amountMinor: 999 },
    ]);
    expect(newest.payment).toMatchObject({ status: 'succeeded', amountCapturedMinor: 999 });
    // The decided amount agrees with the processor's books, so there is no contradiction.
    expect(await harness.deliver(callback('evt_2', harness.chargeOf(request)))).toMatchObject({ contradictions: [] });
  });

  test('posts the requested amount of a payment with an undecidable outcome, unless the decision names a different amount', async () => {
    const { payment } = (await harness.chain(request)).state;
    const undecidable = { ...payment, failure: { code: 'outcome_undecidable', message: 'no' } };
    const state = stateAfter([{ type: 'payment.review_required', payment: undecidable }]);
    const said = { decisionId: 'dec_a', outcome: 'succeeded' as const, reason: 'seen', operator: 'Ada Example' };
    for (const [asked, captured] of [
      [said, 1000],
      [{ ...said, takenMinor: 600 }, 600],
    ] as const) {
      expect(decideByOperator(asked, state)).toMatchObject({ draft: { payment: { amountCapturedMinor: captured } } });
    }
  });

  test('is refused unless the payment is in review', async () => {
    await decide('a');
    expect(await decide('b')).toEqual({ kind: 'not_in_review', status: 'failed' });
    expect(await decide('c', { payment: 'pay_nowhere' })).toEqual({ kind: 'not_found' });
  });

  test('takes effect once if two decisions are concurrent', async () => {
    const outcomes = await Promise.all([decide('a'), decide('b', { outcome: 'succeeded', takenMinor: 999 })]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['first', 'not_in_review']);
  });

  test('is refused as a payload mismatch if its key is reused with a different body', async () => {
    await decide('a');
    expect(await decide('a', { reason: 'Another' })).toEqual({ kind: 'payload_mismatch' });
  });
});

describe('an operator’s decision about a change with an undecidable outcome', () => {
  const DAY = 86_400_000;
  const unanswered = () => Promise.reject(new AmbiguousError('processor_timeout', 'no answer'));

  /** The processor neither responds nor supports look-ups. */
  async function undecided(kind: 'capture' | 'cancel' | 'refund'): Promise<OperationId> {
    const payment = paymentRequest(`blind-${kind}`, { capture: kind === 'refund' ? 'automatic' : 'manual' });
    await harness.pay(payment);
    const asked = change(payment, 'k', kind === 'cancel' ? { kind } : { kind, amountMinor: 400 });
    const processor = { ...harness.processor, abilities: BLIND, change: unanswered };
    expect(await harness.change(asked, { processor })).toMatchObject({ kind: 'first', unknown: true });
    return asked.operationId;
  }
  const BLIND = {
    lookup: { kind: 'none' },
    keyRetentionMs: 0,
    partialCapture: true,
    refund: true,
    partialRefund: true,
    holdValidityMs: 0,
  } as const;
  const aboutChange = (operationId: OperationId) => `pay_${operationId.slice(4, 36)}`;
  const settle = (operationId: OperationId, outcome: 'succeeded' | 'failed', key = 'a') => {
    const asked = { payment: aboutChange(operationId), change: operationId, outcome, override: true } as const;
    return decide(key, asked, { ...harness.processor, abilities: BLIND });
  };
  const newest = async (operationId: OperationId) => {
    const chain = await readChain(harness.store, aboutChange(operationId) as PaymentId);
    return chain?.newest;
  };

  test('is requested by the resolver after the send window, but is accepted only when the change is a day old', async () => {
    const operationId = await undecided('refund');
    const processor = { ...harness.processor, abilities: BLIND, change: unanswered };
    const resolve = () => resolveInquiries({ ...harness.tools, processor });
    expect(await resolve()).toMatchObject({ waiting: 1, undecidable: 0 });
    harness.clock.advance(16 * 60_000);
    expect(await resolve()).toMatchObject({ waiting: 0, undecidable: 1 });
    expect(await settle(operationId, 'failed')).toMatchObject({ kind: 'change_too_young' });
    harness.clock.advance(DAY);
    expect(await settle(operationId, 'failed')).toMatchObject({ kind: 'first' });
    harness.clock.advance(14 * 60_000);
    expect(await resolve()).toMatchObject({ finished: 1, undecidable: 0 });
    expect(await resolve()).toMatchObject({ finished: 0, undecidable: 0 });
  });

  test.each([
    ['refund', 'succeeded', 'refund.completed', 400],
    ['refund', 'failed', 'refund.failed', 0],
    ['capture', 'succeeded', 'payment.completed', 400],
    ['capture', 'failed', 'capture.failed', 0],
    ['cancel', 'succeeded', 'payment.canceled', 0],
    ['cancel', 'failed', 'void.failed', 0],
  ] as const)('has the same effect as a report by the processor: %s %s', async (kind, outcome, type, posted) => {
    const operationId = await undecided(kind);
    harness.clock.advance(DAY);
    expect(await settle(operationId, outcome)).toMatchObject({ kind: 'first', answer: { status: 200 } });
    const transition = await newest(operationId);
    expect(transition?.type).toBe(type);
    expect(transition?.postings[0]?.amountMinor ?? 0).toBe(posted);
    expect(JSON.stringify(transition?.subject)).toContain('Ada Example');
  });

  test('takes effect once under one or two idempotency keys, concurrently or in sequence', async () => {
    const operationId = await undecided('refund');
    harness.clock.advance(DAY);
    const outcomes = await Promise.all([
      settle(operationId, 'succeeded', 'a'),
      settle(operationId, 'failed', 'b'),
      settle(operationId, 'succeeded', 'a'),
    ]);
    expect(outcomes.filter(({ kind }) => kind === 'first')).toHaveLength(1);
    expect(await settle(operationId, 'failed', 'c')).toEqual({ kind: 'change_ended' });
  });

  test('is refused if the change belongs to another payment', async () => {
    const operationId = await undecided('refund');
    harness.clock.advance(DAY);
    expect(await decide('a', { change: operationId })).toEqual({ kind: 'change_not_found' });
  });
});
