import { beforeEach, describe, expect, test } from '@jest/globals';
import { idempotentRunner } from '../../lambdas/adapters/powertools/idempotent-runner.ts';
import { systemDigest } from '../../lambdas/adapters/system/platform.ts';
import { type DecidePayment, decidePayment } from '../../lambdas/app/decide-payment.ts';
import { fingerprintOf } from '../../lambdas/core/fingerprint.ts';
import { storedOperationId } from '../../lambdas/core/ids.ts';
import { callback } from '../support/callback-desk.ts';
import { ChangeDesk } from '../support/change-desk.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { paymentRequest } from '../support/payment-fixtures.ts';

let desk: ChangeDesk;
const entropy = countingEntropy();
const request = paymentRequest('decided', { source: 'tok_async' });

/** A payment of which the processor took another amount than was asked for. */
beforeEach(async () => {
  desk = new ChangeDesk();
  await desk.pay(request);
  const charge = desk.chargeOf(request);
  desk.processor.inside.succeed(charge, 999);
  await desk.deliver(callback('evt_1', charge));
});

const decide = (key: string, changes: Partial<DecidePayment> = {}) => {
  const { tenantId, mode, paymentId } = request;
  const { store: effects, clock } = desk;
  return decidePayment(
    { effects, runner: idempotentRunner, clock, entropy, digest: systemDigest },
    {
      caller: { tenantId, mode },
      operationId: storedOperationId(`dec_${key}`),
      fingerprint: fingerprintOf(systemDigest, { body: JSON.parse(JSON.stringify(changes)), query: {} }),
      payment: paymentId,
      outcome: 'failed',
      reason: 'Nothing on the statement',
      operator: 'Ada Example',
      ...changes,
    },
  );
};

const status = async () => (await desk.chain(request)).state.payment.status;

describe('an operator’s decision', () => {
  test('settles a payment that needs review, once, with the name of who decided', async () => {
    expect(await status()).toBe('needs_review');
    expect(await decide('a')).toMatchObject({ kind: 'first', answer: { status: 200 } });
    expect(await decide('a')).toMatchObject({ kind: 'replay' });
    const { newest } = await desk.chain(request);
    expect(newest).toMatchObject({
      type: 'payment.failed',
      payment: { status: 'failed', failure: { code: 'decided_by_operator' } },
      subject: { kind: 'decision', operator: 'Ada Example', reason: 'Nothing on the statement' },
    });
  });

  test('that it succeeded posts what was asked for', async () => {
    await decide('a', { outcome: 'succeeded' });
    const { newest } = await desk.chain(request);
    expect(newest.postings).toMatchObject([
      { account: 'processor_clearing', direction: 'debit', amountMinor: 1000 },
      { account: 'merchant_payable', direction: 'credit', amountMinor: 1000 },
    ]);
    expect(newest.payment).toMatchObject({ status: 'succeeded', amountCapturedMinor: 1000 });
  });

  test('is of payments in review only, and of one’s own', async () => {
    await decide('a');
    expect(await decide('b')).toEqual({ kind: 'not_in_review', status: 'failed' });
    expect(await decide('c', { payment: 'pay_nowhere' })).toEqual({ kind: 'not_found' });
    const caller = { tenantId: 'ten_other' as typeof request.tenantId, mode: request.mode };
    expect(await decide('d', { caller })).toEqual({ kind: 'not_found' });
  });

  test('raced by another: one counts', async () => {
    const outcomes = await Promise.all([decide('a'), decide('b', { outcome: 'succeeded' })]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['first', 'not_in_review']);
  });

  test('with another body under the same key is a mismatch', async () => {
    await decide('a');
    expect(await decide('a', { reason: 'Another' })).toEqual({ kind: 'payload_mismatch' });
  });
});
