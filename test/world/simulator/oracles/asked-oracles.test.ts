import { beforeEach, describe, expect, test } from '@jest/globals';
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { fingerprintOf } from '../../../../lambdas/kernel/fingerprint.ts';
import type { IdempotencyKey } from '../../../../lambdas/kernel/idempotency-key.ts';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { deriveOperatorChangeId } from '../../../../lambdas/operators/ids.ts';
import { parseApproval } from '../../../../lambdas/operators/store/approval-items.ts';
import { approve } from '../../../../lambdas/operators/use/approve.ts';
import { changeByOperator } from '../../../../lambdas/operators/use/change-by-operator.ts';
import { correctLedger } from '../../../../lambdas/operators/use/correct-ledger.ts';
import { paymentOfOrder } from '../../../../lambdas/orders/ids.ts';
import type { Posting } from '../../../../lambdas/payments/domain/posting.ts';
import { orderRequest } from '../../../orders/order-fixtures.ts';
import { change, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../../../support/causes.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { OPERATORS } from '../callers.ts';
import { watched } from './watched.ts';

const BEN = { name: 'Ben Example', person: 'Ben Example', identity: 'key_ben' };

let harness: World;
let world: ReturnType<typeof watched>;
beforeEach(() => {
  harness = new World();
  world = watched(harness);
  const { tenantId, mode } = paymentRequest('any');
  Object.assign(world.world, { tenants: { fixture: { tenantId, mode, apiKey: '' } } });
});

const wrong = () => world.all().flatMap(({ oracle, what }) => (oracle === 'effects match requests' ? [what] : []));

function called(path: string, key: string, body: object, id: string = '', status = 201): void {
  const answer = { status, headers: {}, body: JSON.stringify({ id }), atMs: 2 };
  world.calls.push({ step: 1, tenant: 'fixture', method: 'POST', path, key, body, sentAtMs: 1, answer });
}

describe('a requested payment', () => {
  test('must have the amount of its request', async () => {
    const request = paymentRequest('asked');
    await harness.pay(request);
    called('/v1/payments', 'asked', { amount: 1000 }, request.paymentId);
    expect(wrong()).toEqual([]);
    called('/v1/payments', 'asked', { amount: 999 }, request.paymentId);
    expect(wrong()).toEqual(['999 was requested, but the chain has 1000', '999 was requested, but 1000 was sent']);
  });

  test('must be in the chain unless the request was rejected', () => {
    called('/v1/payments', 'refused', { amount: 1000 }, '', 422);
    expect(wrong()).toEqual([]);
    called('/v1/payments', 'lost', { amount: 1000 }, 'pay_nowhere');
    expect(wrong()).toEqual(['1000 was requested, but the chain has nothing']);
  });

  test('must be sent to the processor with its amount', async () => {
    const request = paymentRequest('sent');
    await harness.pay(request);
    called('/v1/payments', 'sent', { amount: 1000 }, request.paymentId);
    const { inside } = harness.processor;
    const sent = inside.sent.map((each) => ({ ...each, amountMinor: 1 }));
    const processors = { sandbox: { ...harness.processor, inside: { ...inside, sent } } };
    Object.assign(world.world, { processors });
    expect(wrong()).toEqual(['1000 was requested, but 1 was sent']);
  });
});

describe('a requested change', () => {
  test.each([
    ['capture', 700, { amount: 700 }, 700],
    ['capture', 699, { amount: 700 }, 700],
    ['capture', 999, {}, 1000],
    ['refund', 300, { amount: 300 }, 300],
    ['refund', 299, { amount: 300 }, 300],
    ['refund', 450, {}, 900],
    ['refund', 900, {}, 900],
  ] as const)(
    'must match its request: %s recorded and sent with the amount %i, for the body %j',
    async (kind, amountMinor, body, askedMinor) => {
      const request = paymentRequest('changed', { capture: kind === 'capture' ? 'manual' : 'automatic' });
      await harness.pay(request);
      // After a first refund, less than the captured amount remains.
      if (kind === 'refund') await harness.change(change(request, 'first', { kind, amountMinor: 100 }));
      await harness.change(change(request, 'second', { kind, amountMinor }));
      called(`/v1/payments/${request.paymentId}/${kind === 'refund' ? 'refunds' : kind}`, 'second', body);
      const found = [`the chain has ${amountMinor}`, `${amountMinor} was sent`];
      const expected =
        amountMinor === askedMinor ? [] : found.map((what) => `${askedMinor} was requested, but ${what}`);
      expect(wrong()).toEqual(expected);
    },
  );
});

test('a refund by an operator without an amount must have the amount that the second person approved', async () => {
  const { paymentId, tenantId, mode } = paymentRequest('approved');
  await harness.pay(paymentRequest('approved'));
  const path = `/v1/admin/payments/${paymentId}/refunds`;
  const scope = { tenantId, mode, method: 'POST', path, key: 'approved' as IdempotencyKey };
  const asked = {
    kind: 'refund' as const,
    operationId: deriveOperatorChangeId(systemDigest, 'refund', paymentId, {
      ...scope,
      person: OPERATORS.operator.operator,
    }),
    requestId: storedOperationId('chr_approved'),
    paymentId,
    fingerprint: fingerprintOf(systemDigest, { body: {}, query: {} }),
    // Simulates that another refund of 100 was pending at the time of the request, and has failed since.
    amountMinor: 900,
    reason: 'Asked by phone',
    by: OPERATOR,
    cause: BY_OPERATOR,
    receivedAtMs: harness.clock.nowMs(),
  };
  await changeByOperator({ ...harness.tools, approvals: { aboveMinor: { '*': 1 }, lifetimeMs: 3_600_000 } }, asked);
  const [approval] = harness.store.database.items(TABLES.registry, RegistryRow.approvals).map(parseApproval);
  await approve(harness.tools, { id: approval?.id ?? '', by: BEN, cause: BY_OPERATOR });
  called(path, 'approved', { reason: 'Asked by phone' });
  expect(harness.refundedAtProcessor(paymentRequest('approved'))).toBe(900);
  expect(wrong()).toEqual([]);
});

test('an order and its payment must have the amount of the request', async () => {
  const { orderId, ...request } = orderRequest('asked');
  await harness.order({ orderId, ...request });
  called('/v1/orders', 'asked', { amount: 2_000 }, orderId);
  expect(wrong()).toEqual([]);
  const { processor } = harness;
  expect(processor.charges(paymentOfOrder(systemDigest, orderId))).toHaveLength(1);
  called('/v1/orders', 'asked', { amount: 1_999 }, orderId);
  const [ofOrder, ...ofPayment] = wrong();
  expect(ofOrder).toBe('1999 was requested, but the chain has 2000');
  expect(ofPayment).toEqual([ofOrder, '1999 was requested, but 2000 was sent']);
});

describe('a requested correction', () => {
  const legsOf = (amount: number): readonly (Omit<Posting, 'currency'> & { readonly amount: number })[] => [
    { account: 'merchant_payable', direction: 'debit', amountMinor: amount, amount },
    { account: 'corrections', direction: 'credit', amountMinor: amount, amount },
  ];

  test.each([
    [500, []],
    [250, ['the correction debit 250 merchant_payable, credit 250 corrections was requested, but ']],
  ])(
    'must post the requested amounts, even if it needs an approval (requested: %i, posted: 500)',
    async (asked, found) => {
      const request = paymentRequest('corrected');
      await harness.pay(request);
      await correctLedger(
        { ...harness.tools, approvals: { aboveMinor: { '*': 1 }, lifetimeMs: 3_600_000 } },
        {
          cause: BY_OPERATOR,
          by: OPERATOR,
          operationId: storedOperationId('cor_asked'),
          fingerprint: fingerprintOf(harness.tools.digest, { body: {}, query: {} }),
          payment: request.paymentId,
          reason: 'Booked twice',
          asked: { kind: 'correction', change: { kind: 'post', legs: legsOf(500) } },
        },
      );
      const { id = '' } = (harness.store.database.items(TABLES.registry, RegistryRow.approvals)[0] ?? {}) as {
        readonly id?: string;
      };
      called('/v1/admin/corrections', 'asked', { payment: request.paymentId, postings: legsOf(asked) }, id, 202);
      expect(wrong()).toEqual([]);
      await approve(harness.tools, { id, by: BEN, cause: BY_OPERATOR });
      expect(wrong()).toEqual(
        found.map((text) => `${text}debit 500 merchant_payable, credit 500 corrections was posted`),
      );
    },
  );
});
