import { describe, expect, test } from '@jest/globals';
import { printable } from '../../lambdas/kernel/one-line.ts';
import { refusalOf } from '../../lambdas/orders/parties/shop-call.ts';
import { sanitizedFailure } from '../../lambdas/processors/answers.ts';

/** Terminal escape sequences, line terminators, direction marks, and other invisible or invalid characters. */
const FORGING = '\u001b[2J\r\n\u0085\u009b\u2028\u2029\u202e\u2066\u200f\u00ad\ue000\ufffd\ud800';

describe('a text from a processor, a vendor or a receiver', () => {
  const isPlain = (text: string) => !/[\p{C}\p{Zl}\p{Zp}\ufffd]/u.test(text);

  test('has no control characters after it is read', () => {
    expect(printable(`a${FORGING}b`)).toMatch(/^a +\[2J +b$/);
    expect(isPlain(printable(FORGING))).toBe(true);
    expect(printable('Zahlung abgelehnt – 金額 😀')).toBe('Zahlung abgelehnt – 金額 😀');
  });

  test('is stored without control characters in the failure of a payment', () => {
    const { code, message } = sanitizedFailure({ code: `declined${FORGING}`, message: `Card${FORGING}declined` });
    expect([isPlain(code), isPlain(message)]).toEqual([true, true]);
    expect(message).toMatch(/^Card .*declined$/);
    // Truncation can split a surrogate pair.
    expect(isPlain(sanitizedFailure({ code: 'x', message: '😀'.repeat(200) }).message)).toBe(true);
  });

  test('is stored without control characters in the refusal of a vendor', () => {
    const text = JSON.stringify({ error: { code: `no${FORGING}`, message: FORGING } });
    const { code, message } = refusalOf('shop', { status: 422, retryAfter: null, headers: new Headers(), text }, 0);
    expect([isPlain(code), isPlain(message)]).toEqual([true, true]);
  });
});
