/** Tests the guarantee "balanced postings". */
import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { withSealedReasons } from '../../lambdas/payments/domain/given-reason.ts';
import type { Correction } from '../../lambdas/payments/domain/payment.ts';
import { assertBalanced, type Posting } from '../../lambdas/payments/domain/posting.ts';
import { firstBrokenLink, nextTransition, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { chainOf } from '../../lambdas/payments/use/payment-chain.ts';
import { BY_RUN } from '../support/causes.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

const first = pendingTransition(paymentIdFor('chain'));
const second = outcomeTransition(first, { kind: 'unknown' });
const third = outcomeTransition(second, { kind: 'succeeded', chargeId: 'ch_1' });
const chain = [first, second, third];

describe('the chain of a payment', () => {
  test('is valid as written', () => {
    expect(firstBrokenLink(systemDigest, chain)).toBeUndefined();
    expect(firstBrokenLink(systemDigest, [])).toBeUndefined();
  });

  test('numbers its transitions from one', () => {
    expect(chain.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  test.each<[string, Transition[], number]>([
    ['an amount changed', [first, { ...second, payment: { ...second.payment, amountMinor: 1 } }, third], 2],
    ['a posting removed', [first, second, { ...third, postings: [] }], 3],
    [
      'the commitment to the details changed',
      [{ ...first, first: { ...detailsOfFirst(), commitment: new Uint8Array(32) } }, second, third],
      1,
    ],
    ['a middle transition removed', [first, third], 2],
    ['the first transition removed', [second, third], 1],
    ['two transitions exchanged', [first, third, second], 2],
    ['a cause changed', [first, { ...second, cause: BY_RUN }, third], 2],
    ['a time changed', [first, second, { ...third, occurredAtMs: third.occurredAtMs + 1 }], 3],
  ])('reports the first invalid link: %s', (_name, tampered, sequence) => {
    expect(firstBrokenLink(systemDigest, tampered)).toBe(sequence);
  });

  test('covers the commitment to a reason, but not the reason, which may be erased', () => {
    const subject = { kind: 'correction', correctionId: 'cor_1', reason: 'Booked twice', operator: 'Ada' } as const;
    const draft = { type: 'ledger.corrected', payment: first.payment, postings: [], subject } as const;
    const sealed = withSealedReasons(systemDigest, draft, new Uint8Array(16));
    const corrected = nextTransition(systemDigest, chainOf([first]), sealed, { occurredAtMs: 0, cause: BY_RUN });
    expect(corrected.subject).toMatchObject({ reason: 'Booked twice', commitment: expect.any(Uint8Array) });
    const { commitment } = sealed.subject as Correction;
    const erased = {
      kind: 'correction',
      correctionId: 'cor_1',
      operator: 'Ada',
      ...(commitment && { commitment }),
    } as const;
    expect(firstBrokenLink(systemDigest, [first, corrected])).toBeUndefined();
    expect(firstBrokenLink(systemDigest, [first, { ...corrected, subject: erased }])).toBeUndefined();
    const forged = { ...erased, commitment: new Uint8Array(32) };
    expect(firstBrokenLink(systemDigest, [first, { ...corrected, subject: forged }])).toBe(2);
  });

  test('stays valid if its last transitions are cut off: only a count or a later link detects the cut', () => {
    expect(firstBrokenLink(systemDigest, [first, second])).toBeUndefined();
  });
});

describe('a set of postings', () => {
  const leg = (direction: Posting['direction'], amountMinor: number, currency = 'EUR'): Posting => ({
    account: 'merchant_payable',
    direction,
    amountMinor,
    currency,
  });

  test.each<[string, Posting[]]>([
    ['debits without credits', [leg('debit', 5)]],
    ['unequal sums', [leg('debit', 5), leg('credit', 4)]],
    ['sums that are equal only across currencies', [leg('debit', 5, 'EUR'), leg('credit', 5, 'USD')]],
    ['a negative amount', [leg('debit', -5), leg('credit', -5)]],
    ['a fraction', [leg('debit', 0.5), leg('credit', 0.5)]],
  ])('is refused with %s', (_name, postings) => {
    expect(() => assertBalanced(postings)).toThrow();
  });

  test('may have several legs', () => {
    expect(() => assertBalanced([leg('debit', 5), leg('credit', 2), leg('credit', 3)])).not.toThrow();
  });
});

describe('the digests', () => {
  test('use SHA-256 and the canonical JSON of RFC 8785', () => {
    const expected = createHash('sha256').update('abc').digest('hex');
    expect(Buffer.from(systemDigest.sha256('abc')).toString('hex')).toBe(expected);
    expect(systemDigest.canonicalJson({ b: 1e3, a: ['€', 1.0, null] })).toBe('{"a":["€",1,null],"b":1000}');
  });
});

function detailsOfFirst() {
  if (first.first === undefined) throw new Error('the first transition has no details');
  return first.first;
}
