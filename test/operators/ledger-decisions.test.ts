import { describe, expect, test } from '@jest/globals';
import { paymentInReview } from '../payments/provoked-changes.ts';

const SAID = { reason: 'Seen on the bank statement of 3 March' };

describe('an operator’s decision about a payment with a wrong captured amount', () => {
  test('must name the captured amount; a refusal leaves the key unused', async () => {
    const payment = await paymentInReview();
    const unnamed = await payment.decide('d', { ...SAID, outcome: 'succeeded' });
    expect([unnamed.status, unnamed.body]).toMatchObject([400, { code: 'invalid_request', param: 'amount' }]);
    const dry = await payment.decide('d', { ...SAID, outcome: 'succeeded', amount: 600, dry_run: true });
    expect(dry).toMatchObject({
      status: 200,
      body: {
        object: 'dry_run',
        type: 'payment.completed',
        payment_status: 'succeeded',
        postings: [{ amount: 600 }, {}],
      },
    });
    const named = await payment.decide('d', { ...SAID, outcome: 'succeeded', amount: 600 });
    expect([named.status, named.body]).toMatchObject([
      200,
      { status: 'succeeded', amount: 1000, amount_captured: 600 },
    ]);
  });

  test.each([
    ['although the outcome is “failed”', { outcome: 'failed', amount: 600 }],
    ['although it is about a change', { outcome: 'succeeded', amount: 600, change: `ref_${'a'.repeat(58)}` }],
    ['of zero', { outcome: 'succeeded', amount: 0 }],
    ['beyond any payment', { outcome: 'succeeded', amount: 1_000_000_000_000 }],
    ['that is not a whole number', { outcome: 'succeeded', amount: 0.5 }],
  ])('is refused with the field name when it has an amount %s', async (_what, body) => {
    const reply = await (await paymentInReview()).decide('d', { ...SAID, ...body });
    expect([reply.status, reply.body]).toMatchObject([400, { code: 'invalid_request', param: 'amount' }]);
  });
});
