import { describe, expect, test } from '@jest/globals';
import { orderEventOf, PUBLIC_EVENT_TYPES } from '../../lambdas/events/domain/event.ts';
import { type OrderId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { sealOf } from '../../lambdas/kernel/sealed-details.ts';
import {
  createOrderDraft,
  isOrderOutcome,
  isSettled,
  type Order,
  type OrderDraft,
} from '../../lambdas/orders/domain/order.ts';
import { decideOrder, type OrderFact } from '../../lambdas/orders/domain/order-facts.ts';
import { nextOrderStep, type OrderCall } from '../../lambdas/orders/domain/order-steps.ts';
import {
  firstBrokenOrderLink,
  firstOrderTransition,
  nextOrderTransitions,
} from '../../lambdas/orders/domain/order-transition.ts';
import { paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { confirmationEmail } from '../../lambdas/orders/use/order-calls.ts';
import { orderStatusPartition } from '../../lambdas/views/domain/lists.ts';
import { viewsOf } from '../../lambdas/views/domain/views.ts';
import { requestedAt } from '../support/causes.ts';
import { fc } from '../support/properties.ts';
import { whole } from '../support/slice.ts';

const T0 = Date.UTC(2026, 2, 1, 12);
const HOUR_MS = 3_600_000;
const ID = 'ord_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' as OrderId;

function newOrder(referrer?: string): OrderDraft {
  const paymentId = paymentOfOrder(systemDigest, ID);
  const asked = { id: ID, tenantId: tenantId('ten_1'), mode: 'test' as const, amountMinor: 2_000, currency: 'EUR' };
  return createOrderDraft({ ...asked, paymentId, createdAtMs: T0 }, referrer);
}

const details = {
  requestId: 'req-1',
  source: 'tok_ok',
  items: [{ sku: 'sku_tea', quantity: 2 }],
  email: 'ada@example.com',
  ...sealOf(systemDigest, { email: 'ada@example.com' }, new Uint8Array(16)),
};

const PAID = {
  kind: 'payment',
  status: 'succeeded',
  capturedMinor: 2_000,
  leftMinor: 2_000,
  pendingMinor: 0,
  disputedMinor: 0,
} as const;

/** A call without a response returns none. */
const ANSWERS: Readonly<Record<OrderCall, readonly OrderFact[]>> = {
  charge: [
    ...(['processing', 'requires_action', 'succeeded', 'failed', 'canceled', 'needs_review'] as const).map(
      (status) => ({ ...PAID, status }),
    ),
    { ...PAID, leftMinor: 0 },
    { ...PAID, leftMinor: 0, pendingMinor: 2_000 },
    { ...PAID, leftMinor: 1 },
    { ...PAID, leftMinor: 1_999, disputedMinor: 1 },
    { ...PAID, leftMinor: 1_999, capturedMinor: 1_999 },
    { kind: 'payment_absent' },
    { kind: 'payment_abandoned' },
  ],
  reserve: [
    { kind: 'reserved', reservationId: 'rsv_1' },
    { kind: 'reservation_refused', failure: { code: 'out_of_stock', message: 'None left.' } },
  ],
  find_reservation: [
    { kind: 'reserved', reservationId: 'rsv_1' },
    { kind: 'reservation_refused', failure: { code: 'out_of_stock', message: 'None left.' } },
  ],
  release: [{ kind: 'released', reservationId: 'rsv_1' }],
  reverse: [
    { kind: 'reversed' },
    { kind: 'reversal_turned' },
    { kind: 'reversal_undone' },
    ...(['cancel', 'refund'] as const).flatMap((by) =>
      [1, 2, 3, 4, 5].map((attempt) => ({ kind: 'reversal_failed' as const, attempt, by })),
    ),
  ],
  send_email: [
    { kind: 'email_sent' },
    { kind: 'email_refused' },
    { kind: 'email_unknown' },
    { kind: 'email_unanswered' },
    { kind: 'email_queued' },
    { kind: 'email_given_up' },
  ],
  credit: [
    { kind: 'credited' },
    { kind: 'credit_refused' },
    { kind: 'credit_without_program' },
    { kind: 'credit_unanswered' },
    { kind: 'credit_queued' },
    { kind: 'credit_given_up' },
  ],
};
const EVERY_FACT = Object.values(ANSWERS).flat();

interface Walk {
  readonly drafts: readonly OrderDraft[];
  readonly calls: readonly { readonly call: OrderCall; readonly before: Order }[];
}

/** Each choice is a response to a call, a rival's fact, or the passage of time. */
function walk(choices: readonly number[], referrer: string | undefined): Walk {
  const drafts = [newOrder(referrer)];
  const calls: { call: OrderCall; before: Order }[] = [];
  const newest = () => drafts.at(-1)?.order ?? newOrder().order;
  let nowMs = T0;
  let tried = new Set<OrderCall>();
  for (const choice of choices) {
    const step = nextOrderStep(newest(), { nowMs, tried, timeLeft: choice % 7 !== 0 });
    if (step.do === 'append' || step.do === 'conclude') drafts.push(step.draft);
    if (step.do === 'rest') {
      nowMs += (choice % 11) * HOUR_MS;
      tried = new Set();
    }
    if (step.do !== 'call') continue;
    tried.add(step.call);
    calls.push({ call: step.call, before: newest() });
    const answers = choice % 5 === 0 ? EVERY_FACT : ANSWERS[step.call];
    const fact = answers[choice % (answers.length + 1)];
    const draft = fact === undefined ? undefined : decideOrder(fact, newest(), nowMs);
    if (draft !== undefined) drafts.push(draft);
  }
  return { drafts, calls };
}

const walks = fc
  .record({
    choices: fc.array(fc.nat(10_000), { minLength: 1, maxLength: 120 }),
    referrer: fc.option(fc.constant('ref_1')),
  })
  .map(({ choices, referrer }) => walk(choices, referrer ?? undefined));

const PENDING: Partial<Record<OrderCall, (order: Order) => boolean>> = {
  reserve: ({ reservation }) => reservation.status === 'pending',
  find_reservation: ({ reservation }) => reservation.status === 'releasing',
  release: ({ reservation }) => reservation.status === 'releasing',
  reverse: ({ charge }) => ['reversing', 'reversal_failed', 'reversed'].includes(charge.status),
  send_email: ({ email }) => email.status === 'pending' || email.status === 'delayed',
  credit: ({ referral }) => referral.status === 'pending' || referral.status === 'delayed',
};

describe('orders with any responses in any sequence', () => {
  test('are completed only with charge and goods, and settled as canceled only without both; these statuses are final unless reopened', () => {
    fc.assert(
      fc.property(walks, ({ drafts }) => {
        for (const [index, { type, order }] of drafts.entries()) {
          const before = drafts[index - 1]?.order;
          const isEnd = before?.status === 'completed' || (before?.status === 'canceled' && type !== 'order.reopened');
          if (isEnd) expect(order.status).toBe(before.status);
          if (before?.failure !== undefined) expect(order.failure).toEqual(before.failure);
          if (order.status === 'completed') {
            expect([order.charge.status, order.reservation.status, order.failure]).toEqual([
              'succeeded',
              'reserved',
              undefined,
            ]);
          }
          if (order.status === 'canceled' && isSettled(order)) {
            expect(['failed', 'reversed']).toContain(order.charge.status);
            expect(['none', 'refused', 'released']).toContain(order.reservation.status);
            // The e-mail may have been sent before the refund, so it is not checked. The credit has not begun.
            expect(['none', 'due']).toContain(order.referral.status);
          }
        }
      }),
      { numRuns: whole(2_000, { slice: 250 }) },
    );
  });

  test('emit a merchant event and update the lists on every status change', () => {
    fc.assert(
      fc.property(walks, ({ drafts: [placed, ...later] }) => {
        const first = firstOrderTransition(systemDigest, placed ?? newOrder(), details, requestedAt(T0));
        let stated: Order['status'] | undefined;
        for (const transition of [first, ...nextOrderTransitions(systemDigest, first, later, requestedAt(T0))]) {
          const { order, type } = transition;
          if (isOrderOutcome(type)) {
            const event = orderEventOf(systemDigest, transition, details);
            const { heads, owner } = viewsOf(event);
            expect(PUBLIC_EVENT_TYPES).toContain(type);
            expect(heads.map(({ list }) => list)).toEqual([orderStatusPartition(owner, order.status, order.id)]);
            stated = event.event.data.object['status'] as Order['status'];
          }
          expect([type, stated]).toEqual([type, order.status]);
        }
      }),
      { numRuns: whole(2_000, { slice: 250 }) },
    );
  });

  test('record every call to an external service before making it', () => {
    fc.assert(
      fc.property(walks, ({ calls }) => {
        for (const { call, before } of calls) expect([call, PENDING[call]?.(before) ?? true]).toEqual([call, true]);
      }),
      { numRuns: whole(2_000, { slice: 250 }) },
    );
  });

  test('reach each of the expected states in some history, and no other state', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(walks, ({ drafts }) => {
        for (const { order } of drafts) seen.add(`${order.status}${isSettled(order) ? ' settled' : ''}`);
      }),
      { numRuns: whole(2_000, { slice: 250 }), seed: 7 },
    );
    expect([...seen].sort()).toEqual([
      'canceled settled',
      'completed',
      'completed settled',
      'needs_review',
      'processing',
    ]);
  });
});

describe('a late reservation', () => {
  const failure = { code: 'out_of_stock', message: 'None left.' };
  const canceled: Order = {
    ...newOrder().order,
    status: 'canceled',
    charge: { status: 'reversed', sinceMs: T0, attempt: 1 },
    reservation: { status: 'refused', sinceMs: T0 },
    failure,
  };

  test('is released even if the order is already canceled', () => {
    const draft = decideOrder({ kind: 'reserved', reservationId: 'rsv_9' }, canceled, T0);
    expect(draft).toMatchObject({ type: 'release.pending', order: { status: 'canceled' } });
    expect(draft && isSettled(draft.order)).toBe(false);
    const step = draft && nextOrderStep(draft.order, { nowMs: T0, tried: new Set(), timeLeft: true });
    expect(step).toEqual({ do: 'call', call: 'release' });
  });

  test('is not released again', () => {
    const released: Order = { ...canceled, reservation: { status: 'released', sinceMs: T0, reservationId: 'rsv_9' } };
    expect(decideOrder({ kind: 'reserved', reservationId: 'rsv_9' }, released, T0)).toBeUndefined();
  });

  test('is released if it has an id, even if a retry of its request was refused', () => {
    const releasing = (more: object): Order => ({
      ...canceled,
      reservation: { status: 'releasing', sinceMs: T0, ...more },
    });
    const refused = { kind: 'reservation_refused', failure } as const;
    expect(decideOrder(refused, releasing({ reservationId: 'rsv_9' }), T0)).toBeUndefined();
    expect(decideOrder(refused, releasing({}), T0)).toMatchObject({ type: 'release.succeeded' });
  });
});

test.each([
  ['the full amount', {}, 'charge.succeeded'],
  ['less than the full amount', { capturedMinor: 1_999, leftMinor: 1_999 }, undefined],
  ['a disputed part', { disputedMinor: 1 }, undefined],
  ['nothing left', { leftMinor: 0 }, undefined],
])(
  'an order is paid only if the full amount was captured and no part of it was refunded or disputed: %s',
  (_what, shown, type) => {
    const draft = decideOrder({ ...PAID, ...shown }, newOrder().order, T0);
    expect(draft?.type === 'charge.succeeded').toBe(type !== undefined);
  },
);

describe('a reversal that fails later', () => {
  const failure = { code: 'out_of_stock', message: 'None left.' };
  const canceled = (charge: Pick<Order['charge'], 'attempt' | 'by'>): Order => ({
    ...newOrder().order,
    status: 'canceled',
    charge: { status: 'reversed', sinceMs: T0, ...charge },
    failure,
    failedAtMs: T0,
  });
  const WEEK_MS = 7 * 24 * HOUR_MS;
  const after = (order: Order) => {
    const draft = decideOrder({ kind: 'reversal_undone' }, order, T0 + WEEK_MS);
    if (draft === undefined) throw new Error('the fact causes no transition');
    const turn = { tried: new Set<OrderCall>(['reverse']), timeLeft: true };
    const step = nextOrderStep(draft.order, { ...turn, nowMs: T0 + WEEK_MS });
    const later = nextOrderStep(draft.order, { ...turn, nowMs: T0 + WEEK_MS + HOUR_MS });
    return { order: draft.order, step, later };
  };

  test('reopens the order, and the next reversal uses the next key after a wait', () => {
    const { order, step, later } = after(canceled({ attempt: 2, by: 'refund' }));
    expect(order).toMatchObject({ status: 'processing', charge: { status: 'reversal_failed', attempt: 2 } });
    expect(step).toEqual({ do: 'rest' });
    expect(later).toMatchObject({ do: 'append', draft: { order: { charge: { status: 'reversing', attempt: 3 } } } });
  });

  test('is detected by a check before an order is canceled, even days later', () => {
    const open: Order = { ...canceled({ attempt: 2, by: 'refund' }), status: 'processing' };
    const turn = { tried: new Set<OrderCall>(), timeLeft: true, nowMs: T0 + WEEK_MS };
    expect(nextOrderStep(open, turn)).toEqual({ do: 'call', call: 'reverse' });
    const looked = nextOrderStep(open, { ...turn, tried: new Set<OrderCall>(['reverse']) });
    expect(looked).toMatchObject({ do: 'conclude', draft: { order: { status: 'canceled' } } });
  });

  test('does not count as an attempt if another actor reversed the payment', () => {
    expect(after(canceled({})).later).toMatchObject({ draft: { order: { charge: { attempt: 1, by: 'refund' } } } });
    const { later } = after(canceled({ attempt: 4, by: 'cancel' }));
    expect(later).toMatchObject({ draft: { order: { charge: { attempt: 1, by: 'refund' } } } });
  });

  test('is left to an operator after the fifth failure, and is not retried', () => {
    const { order, step, later } = after(canceled({ attempt: 5, by: 'refund' }));
    const inReview = { do: 'conclude', draft: { order: { status: 'needs_review' } } };
    expect([step, later]).toMatchObject([inReview, inReview]);
    const turn = { tried: new Set<OrderCall>(['reverse']), timeLeft: true, nowMs: T0 + 2 * WEEK_MS };
    expect(nextOrderStep({ ...order, status: 'needs_review' }, turn)).toEqual({ do: 'rest' });
  });
});

test('the check of a chain reports the first invalid link', () => {
  const first = firstOrderTransition(systemDigest, newOrder(), details, requestedAt(T0));
  const order = first.order;
  const drafts: OrderDraft[] = [
    { type: 'charge.succeeded', order },
    { type: 'reservation.pending', order },
  ];
  const [second, third] = nextOrderTransitions(systemDigest, first, drafts, requestedAt(T0 + 1));
  if (second === undefined || third === undefined) throw new Error('the order has fewer than three transitions');
  expect(firstBrokenOrderLink(systemDigest, [first, second, third])).toBeUndefined();
  const forged = { ...second, order: { ...order, amountMinor: 1 } };
  expect(firstBrokenOrderLink(systemDigest, [first, forged, third])).toBe(2);
  expect(firstBrokenOrderLink(systemDigest, [first, third])).toBe(2);
});

test('a confirmation e-mail contains no hyperlink, whatever the ids of the items are', () => {
  const items = [{ sku: 'evil.com', quantity: 2 }];
  expect(confirmationEmail(newOrder().order, { ...details, items }).text).toContain('  2 x item\n');
});

test.each([
  ['EUR', 1_999, '19.99 EUR'],
  ['JPY', 1_999, '1999 JPY'],
  ['KWD', 5, '0.005 KWD'],
])('a confirmation of an amount in %s has the decimals of that currency', (currency, amountMinor, stated) => {
  const { subject, text } = confirmationEmail({ ...newOrder().order, currency, amountMinor }, details);
  expect(subject).toContain(ID);
  expect(text).toContain(`2 x sku_tea\n\nCharged: ${stated}`);
});
