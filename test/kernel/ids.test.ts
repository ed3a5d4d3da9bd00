import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { base32 } from '../../lambdas/kernel/digest.ts';
import { parseIdempotencyKey } from '../../lambdas/kernel/idempotency-key.ts';
import type { KeyScope } from '../../lambdas/kernel/ids.ts';
import { derivePaymentId, parsePaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';

function scope(changes: Partial<Omit<KeyScope, 'key'>> & { key?: string } = {}): KeyScope {
  const { key = 'k-1', ...rest } = changes;
  const parsed = parseIdempotencyKey([key]);
  if (parsed.kind !== 'key') throw new Error(`${key} is no key`);
  return { tenantId: tenantId('ten_a'), mode: 'test', method: 'POST', path: '/v1/payments', ...rest, key: parsed.key };
}

const idOf = (changes: Parameters<typeof scope>[0] = {}) => derivePaymentId(systemDigest, scope(changes));

describe('a derived payment id', () => {
  test('is permanently the same for the same request', () => {
    // A golden value: a change of the derivation would charge again under keys that were used before it.
    expect(idOf()).toBe(idOf());
    expect(idOf()).toBe('pay_o3m55k7e6cb7nt4rxrbysucle6a5cigg');
  });

  test('differs by tenant, mode, method, path and key', () => {
    const ids = [
      idOf(),
      idOf({ tenantId: tenantId('ten_b') }),
      idOf({ mode: 'live' }),
      idOf({ method: 'PUT' }),
      idOf({ path: '/v1/payments/x/refunds' }),
      idOf({ key: 'k-2' }),
    ];
    expect(new Set(ids).size).toBe(ids.length);
  });

  test('cannot be made equal by moving text between path and key', () => {
    expect(idOf({ path: '/a', key: 'b' })).not.toBe(idOf({ path: '/a"', key: 'b' }));
    expect(idOf({ path: '/a","b', key: 'c' })).not.toBe(idOf({ path: '/a', key: 'b","c' }));
  });

  test('has 160 bits and parses', () => {
    expect(idOf()).toMatch(/^pay_[a-z2-7]{32}$/);
    expect(parsePaymentId(idOf())).toBe(idOf());
    for (const wrong of ['', 'pay_', 'pay_ABC', `${idOf()}a`, `x${idOf()}`, `${idOf()}\n`]) {
      expect(parsePaymentId(wrong)).toBeUndefined();
    }
  });
});

describe('base32', () => {
  test('agrees with the test vectors of RFC 4648, section 10', () => {
    const encode = (text: string) => base32(new TextEncoder().encode(text)).toUpperCase();
    expect(['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'].map(encode)).toEqual([
      '',
      'MY',
      'MZXQ',
      'MZXW6',
      'MZXW6YQ',
      'MZXW6YTB',
      'MZXW6YTBOI',
    ]);
  });

  test('gives different text to different bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), fc.uint8Array({ maxLength: 24 }), (left, right) => {
        fc.pre(left.length === right.length && left.some((byte, index) => byte !== right[index]));
        expect(base32(left)).not.toBe(base32(right));
      }),
    );
  });
});
