import { describe, expect, test } from '@jest/globals';
import {
  type Commission,
  type CommissionCause,
  type CommissionedPayment,
  commissionAfter,
  orderOf,
} from '../../lambdas/follow-ups/commission.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { fc } from '../support/properties.ts';

const PAYMENT: CommissionedPayment = {
  id: 'pay_1',
  status: 'succeeded',
  amount_captured: 1009,
  amount_refunded: 0,
  currency: 'EUR',
  reference: null,
  processor: { charge_id: 'ch_1' },
  metadata: { affiliate: 'aff_7', order: '6735' },
  created: Date.UTC(2026, 2, 1) / 1000,
};

function after(changes: Partial<CommissionedPayment> = {}, sequence = 2): Commission | undefined {
  return afterEvent({ type: 'payment.completed', sequence, data: { object: {} } }, changes);
}

function afterEvent(event: CommissionCause, changes: Partial<CommissionedPayment> = {}): Commission | undefined {
  return commissionAfter({ tenant: tenantId('ten_1'), mode: 'live', event }, { ...PAYMENT, ...changes });
}

describe('a commission', () => {
  test('is ten percent of the captured amount, rounded down, and locked for thirty days', () => {
    expect(after()).toEqual({
      tenantId: 'ten_1',
      mode: 'live',
      affiliate: 'aff_7',
      orderId: '6735',
      paymentId: 'pay_1',
      amountMinor: 100,
      currency: 'EUR',
      status: 'locked',
      releasesAtMs: Date.UTC(2026, 2, 31),
      sequence: 2,
    });
  });

  test.each([
    ['reduced by a partial refund', 509, { amountMinor: 50, status: 'locked' }],
    ['canceled by a full refund', 1009, { amountMinor: 0, status: 'canceled' }],
    ['canceled when the remaining amount gives less than one minor unit', 1000, { amountMinor: 0, status: 'canceled' }],
  ])('is %s', (_what, amount_refunded, expected) => {
    expect(after({ amount_refunded }, 4)).toMatchObject({
      ...expected,
      releasesAtMs: Date.UTC(2026, 2, 31),
      sequence: 4,
    });
  });

  test.each([
    ['names no affiliate', { metadata: { order: '6735' } }],
    ['names an empty affiliate', { metadata: { affiliate: '' } }],
    ['names an affiliate that is too long', { metadata: { affiliate: 'a'.repeat(256) } }],
    ['failed', { status: 'failed' }],
  ])('does not exist for a payment that %s', (_what, changes) => {
    expect(after(changes)).toBeUndefined();
  });

  test('is never negative, regardless of refunds', () => {
    expect(after({ amount_refunded: 1509 })).toMatchObject({ amountMinor: 0, status: 'canceled' });
  });

  test.each([
    ['about its own charge', 'ch_1', { amountMinor: 0, status: 'canceled', sequence: 1_000_000 }],
    ['about a stray charge', 'ch_2', { amountMinor: 100, status: 'locked', sequence: 3 }],
  ])(
    'is canceled by a lost dispute only if the dispute is about the payment’s own charge (this dispute is %s)',
    (_what, charge_id, expected) => {
      const object = { object: 'dispute', charge_id, status: 'lost', amount: 1009 };
      expect(afterEvent({ type: 'dispute.closed', sequence: 3, data: { object } })).toMatchObject(expected);
    },
  );

  test('is a tenth of the amount that the merchant keeps, rounded down to a minor unit', () => {
    const amounts = fc
      .integer({ min: 1, max: 999_999_999_999 })
      .chain((taken) => fc.record({ taken: fc.constant(taken), back: fc.integer({ min: 0, max: taken }) }));
    fc.assert(
      fc.property(amounts, ({ taken, back }) => {
        const { amountMinor = -1 } = after({ amount_captured: taken, amount_refunded: back }) ?? {};
        const kept = BigInt(taken - back);
        expect(BigInt(amountMinor) * 10n <= kept && kept < (BigInt(amountMinor) + 1n) * 10n).toBe(true);
      }),
    );
  });
});

describe('the order to which a commission belongs', () => {
  test.each([
    ['metadata.order, if it is set', { order: 'a', order_id: 'b' }, 'c', 'a'],
    ['metadata.order_id, if metadata.order is missing', { order_id: 'b' }, 'c', 'b'],
    ['the reference, if the metadata names no order', { order: '' }, 'c', 'c'],
    ['the payment itself, if nothing else names an order', { order_id: 'b'.repeat(256) }, null, 'pay_1'],
  ] as const)('is %s', (_what, metadata, reference, expected) => {
    expect(orderOf({ ...PAYMENT, metadata, reference })).toBe(expected);
  });
});
