import { globSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import * as callbacks from '../../lambdas/callbacks/ids.ts';
import * as events from '../../lambdas/events/ids.ts';
import * as exports from '../../lambdas/exports/ids.ts';
import * as jobs from '../../lambdas/jobs/ids.ts';
import { OperationPrefix } from '../../lambdas/kernel/contract/rows.ts';
import { base32 } from '../../lambdas/kernel/digest.ts';
import { type KeyScope, parseIdempotencyKey } from '../../lambdas/kernel/idempotency-key.ts';
import type { OperationId } from '../../lambdas/kernel/ids.ts';
import * as kernel from '../../lambdas/kernel/ids.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import * as once from '../../lambdas/once/ids.ts';
import * as operators from '../../lambdas/operators/ids.ts';
import * as orders from '../../lambdas/orders/ids.ts';
import * as outbound from '../../lambdas/outbound/ids.ts';
import * as payments from '../../lambdas/payments/ids.ts';
import { derivePaymentId, parsePaymentId } from '../../lambdas/payments/ids.ts';
import * as resolving from '../../lambdas/resolving/ids.ts';
import * as services from '../../lambdas/services/ids.ts';
import * as views from '../../lambdas/views/ids.ts';
import * as webhooks from '../../lambdas/webhooks/ids.ts';
import { fc } from '../support/properties.ts';

function scope(changes: Partial<Omit<KeyScope, 'key'>> & { key?: string } = {}): KeyScope {
  const { key = 'k-1', ...rest } = changes;
  const parsed = parseIdempotencyKey([key]);
  if (parsed.kind !== 'key') throw new Error(`${key} is not a valid key`);
  return { tenantId: tenantId('ten_a'), mode: 'test', method: 'POST', path: '/v1/payments', ...rest, key: parsed.key };
}

const idOf = (changes: Parameters<typeof scope>[0] = {}) => derivePaymentId(systemDigest, scope(changes));

describe('a derived payment id', () => {
  test('never changes for the same request', () => {
    // This expected value is fixed. If the derivation changed, a retry with an earlier key would charge again.
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

  test('differs if text moves between path and key', () => {
    expect(idOf({ path: '/a', key: 'b' })).not.toBe(idOf({ path: '/a"', key: 'b' }));
    expect(idOf({ path: '/a","b', key: 'c' })).not.toBe(idOf({ path: '/a', key: 'b","c' }));
  });

  test('has 160 bits and can be parsed', () => {
    expect(idOf()).toMatch(/^pay_[a-z2-7]{32}$/);
    expect(parsePaymentId(idOf())).toBe(idOf());
    for (const wrong of ['', 'pay_', 'pay_ABC', `${idOf()}a`, `x${idOf()}`, `${idOf()}\n`]) {
      expect(parsePaymentId(wrong)).toBeUndefined();
    }
  });
});

/** The id functions of each folder in `lambdas` that has an `ids.ts`. */
const ROOMS = {
  callbacks,
  events,
  exports,
  jobs,
  kernel,
  once,
  operators,
  orders,
  outbound,
  payments,
  resolving,
  services,
  views,
  webhooks,
};
const made = {
  ...callbacks,
  ...events,
  ...exports,
  ...jobs,
  ...kernel,
  ...once,
  ...operators,
  ...orders,
  ...outbound,
  ...payments,
  ...resolving,
  ...services,
  ...views,
  ...webhooks,
};
type Ids = typeof made;
/** Names of the functions that derive an operation id. */
type Maker = {
  [Name in keyof Ids]: Ids[Name] extends (...args: never) => OperationId ? Name : never;
}[keyof Ids];

const DIGEST = systemDigest;
const operator = { person: 'Ada', method: 'POST', path: '/v1/jobs/resolve/runs', key: scope().key };
const orderId = made.deriveOrderId(DIGEST, scope());

/** Operations with a record in the Idempotency table. */
const RECORDED = {
  chargeOperation: made.chargeOperation(idOf()),
  deriveChangeId: made.deriveChangeId(DIGEST, 'capture', idOf(), scope()),
  orderOperation: made.orderOperation(orderId),
  reversalOfOrder: made.reversalOfOrder(DIGEST, 'cancel', idOf(), 1),
  holdExpiryOperation: made.holdExpiryOperation(DIGEST, idOf(), 1),
  returnOperation: made.returnOperation(DIGEST, idOf(), 'ch_1', { attempt: 1, amountMinor: 100 }),
  inquiryOperation: made.inquiryOperation(DIGEST, made.chargeOperation(idOf()), new Uint8Array(32)),
  contradictionOperation: made.contradictionOperation(DIGEST, idOf(), 'ch_1'),
  missingShopOperation: made.missingShopOperation(DIGEST, orderId),
  callbackOperation: made.callbackOperation(DIGEST, 'sandbox', 'evt_1'),
  adoptionOperation: made.adoptionOperation(DIGEST, made.callbackOperation(DIGEST, 'sandbox', 'evt_1')),
  businessOperation: made.businessOperation(DIGEST, 'receipts', { ...scope(), businessKey: 'receipt:1' }),
  clockedRunOperation: made.clockedRunOperation(DIGEST, 'resolve:1'),
  deriveRunOperation: made.deriveRunOperation(DIGEST, operator),
  runCallOperation: made.runCallOperation(DIGEST, 'resolve:1'),
  deriveChangeRequestId: made.deriveChangeRequestId(DIGEST, operator),
  deriveOperatorChangeId: made.deriveOperatorChangeId(DIGEST, 'refund', idOf(), operator),
  deriveDecisionId: made.deriveDecisionId(DIGEST, operator),
  deriveKeyRequestId: made.deriveKeyRequestId(DIGEST, operator),
  deriveLimitRequestId: made.deriveLimitRequestId(DIGEST, operator),
  deriveQueueRequestId: made.deriveQueueRequestId(DIGEST, operator),
  deriveCorrectionId: made.deriveCorrectionId(DIGEST, operator),
  deriveAnnotationId: made.deriveAnnotationId(DIGEST, operator),
  consumerOperation: made.consumerOperation(DIGEST, 'stock', 'evt_1'),
  webhookOperation: made.webhookOperation(DIGEST, scope()),
} satisfies Partial<Record<Maker, OperationId>>;

/**
 * Functions that return an operation id without a record in the Idempotency table. Each text says what records the
 * operation instead, or where the id comes from.
 */
const REMEMBERED_ELSEWHERE = {
  orderStepOperation: 'the party that executes the step',
  relayOperation: 'the Stream; an event may be published again',
  republishOperation: 'the range; an event may be published again',
  redriveOperation: 'the dead-letter queue, and the vendor',
  projectionOperation: 'the row of the event in the Views',
  attemptOperation: 'the row of the delivery',
  replayOperation: 'the row of the replay',
  runPageOperation: 'the row of the run',
  exportOperation: 'the row of the export',
  serviceOperation: "a record in the table of a team's service",
  changeIdOf: 'a change id derived by one of the functions above',
  storedOperationId: 'not derived, only read from a row',
} satisfies Record<Exclude<Maker, keyof typeof RECORDED>, string>;
// The `satisfies` clause does not compile if a function is missing from both tables.
void REMEMBERED_ELSEWHERE;

test('the table of id functions contains every folder of lambdas that has an ids.ts', () => {
  const files = globSync('lambdas/*/ids.ts').map((file) => file.split('/')[1]);
  expect(new Set(Object.keys(ROOMS))).toEqual(new Set(files));
});

describe('an operation with a record in the Idempotency table', () => {
  // Policies grant access to records by these prefixes. With another prefix, no deployed function could write the
  // record.
  test.each(Object.entries(RECORDED))(
    'starts with exactly one of the prefixes that IAM policies allow: %s',
    (_name, id) => {
      expect(Object.values(OperationPrefix).filter((prefix) => id.startsWith(prefix))).toHaveLength(1);
    },
  );
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

  test('encodes different bytes as different text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 24 }), fc.uint8Array({ maxLength: 24 }), (left, right) => {
        fc.pre(left.length === right.length && left.some((byte, index) => byte !== right[index]));
        expect(base32(left)).not.toBe(base32(right));
      }),
    );
  });
});
