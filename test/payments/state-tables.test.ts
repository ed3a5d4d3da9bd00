/** Tests the guarantee "balanced postings". */
import { describe, expect, test } from '@jest/globals';
import { eventOf } from '../../lambdas/events/domain/event.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import {
  create,
  isOutcome,
  PAYMENT_STATUSES,
  paymentObject,
  type TransitionDraft,
} from '../../lambdas/payments/domain/payment.ts';
import { evolve, type PaymentState, stateAfter } from '../../lambdas/payments/domain/payment-state.ts';
import { assertBalanced, netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { type Cell, CHARGE_TABLE, DISPUTE_TABLE, REFUND_TABLE } from '../../lambdas/payments/domain/state-tables.ts';
import { detailsOf, nextTransition } from '../../lambdas/payments/domain/transition.ts';
import { chainOf } from '../../lambdas/payments/use/payment-chain.ts';
import { statusPartition } from '../../lambdas/views/domain/lists.ts';
import { type DisputeHeadBody, isPublicType, viewsOf } from '../../lambdas/views/domain/views.ts';
import { requestedAt } from '../support/causes.ts';
import { fc } from '../support/properties.ts';
import { whole } from '../support/slice.ts';
import { paymentIdFor, pendingTransition } from './payment-fixtures.ts';

const SHOWN = ['status', 'amount_captured', 'amount_refunded', 'amount_disputed', 'disputes'] as const;
const created = create({ ...pendingTransition(paymentIdFor('tables')).payment });
const CHARGES = ['ch_1', 'ch_2'];
const FAILURE = { code: 'card_declined', message: 'no' };

const chargeId = fc.constantFrom(...CHARGES);
const dollars = (amountMinor: number) => [{ amountMinor, currency: 'USD' }];

/** Includes facts that contradict earlier ones. */
const anyFact: fc.Arbitrary<Fact> = fc.oneof(
  fc.constantFrom<Fact>({ kind: 'unknown' }, { kind: 'not_attempted' }, { kind: 'undecidable' }),
  fc.record({ kind: fc.constantFrom('pending' as const, 'authorized' as const), chargeId }),
  fc.record({ kind: fc.constant('action_required' as const), chargeId, actionUrl: fc.constant('https://a.example') }),
  fc.record({
    kind: fc.constant('succeeded' as const),
    chargeId,
    capturedMinor: fc.constantFrom(1000, 999),
    feeMinor: fc.constantFrom(0, 59),
  }),
  fc.record({
    kind: fc.constantFrom('declined' as const, 'rejected' as const),
    chargeId,
    failure: fc.constant(FAILURE),
  }),
  fc.record({ kind: fc.constant('voided' as const), chargeId, reason: fc.constant('expired' as const) }),
  fc.record({ kind: fc.constant('fee' as const), chargeId, feeMinor: fc.constantFrom(0, 30, 59) }),
  fc.record({ kind: fc.constant('fee' as const), chargeId, otherFees: fc.constantFrom([], dollars(0), dollars(64)) }),
  fc.record({
    kind: fc.constant('foreign_charge' as const),
    chargeId: fc.constant('ch_3'),
    status: fc.constantFrom('authorized' as const, 'captured' as const, 'none' as const),
    amountMinor: fc.constant(700),
    currency: fc.constant('EUR'),
  }),
  fc.record({
    kind: fc.constant('refund' as const),
    createdAtMs: fc.constant(1_772_366_400_000),
    refundId: fc.constantFrom('re_1', 're_2', 're_3'),
    chargeId: fc.constantFrom('ch_1', 'ch_3'),
    amountMinor: fc.constantFrom(400, 700),
    status: fc.constantFrom('pending' as const, 'succeeded' as const, 'failed' as const),
  }),
  fc.record({
    kind: fc.constant('refund' as const),
    createdAtMs: fc.constant(1_772_366_400_000),
    refundId: fc.constantFrom('re_1', 're_2'),
    chargeId: fc.constant('ch_1'),
    amountMinor: fc.constantFrom(400, 700),
    status: fc.constant('failed' as const),
    failure: fc.constantFrom({ code: 'not_attempted', message: 'no' }, { code: 'decided_by_operator', message: 'no' }),
  }),
  fc.record({
    kind: fc.constant('dispute' as const),
    createdAtMs: fc.constant(1_772_366_400_000),
    disputeId: fc.constantFrom('dp_1', 'dp_2'),
    chargeId,
    amountMinor: fc.constant(1000),
    status: fc.constantFrom('open' as const, 'won' as const, 'lost' as const),
  }),
);

interface Run {
  readonly state: PaymentState;
  readonly drafts: readonly TransitionDraft[];
}

function after(facts: readonly Fact[]): Run {
  let state = stateAfter([created]);
  const drafts: TransitionDraft[] = [];
  for (const fact of facts) {
    const decision = decide(fact, state);
    if (decision.kind !== 'append') continue;
    drafts.push(decision.draft);
    state = evolve(state, decision.draft);
  }
  return { state, drafts };
}

/** For each status of a payment, the statuses that may follow it. Each status may follow itself. */
const FORWARD: Readonly<Record<string, readonly string[]>> = {
  processing: PAYMENT_STATUSES,
  requires_action: ['requires_action', 'requires_capture', 'succeeded', 'failed', 'canceled', 'needs_review'],
  requires_capture: ['requires_capture', 'succeeded', 'canceled', 'needs_review'],
  needs_review: ['needs_review', 'failed', 'canceled'],
  succeeded: ['succeeded'],
  failed: ['failed'],
  canceled: ['canceled'],
};

describe('a payment with any facts in any order', () => {
  const sequences = fc.array(anyFact, { maxLength: 14 });

  test('has balanced sets of postings, and a status that never moves backwards', () => {
    fc.assert(
      fc.property(sequences, (facts) => {
        let { status } = created.payment as { status: string };
        for (const { payment, postings } of after(facts).drafts) {
          assertBalanced(postings);
          expect(FORWARD[status]).toContain(payment.status);
          status = payment.status;
        }
      }),
      { numRuns: whole(2_000, { slice: 500 }) },
    );
  });

  test('posts each fact once, even if the fact is repeated', () => {
    fc.assert(
      fc.property(sequences, (facts) => {
        const { drafts, state } = after(facts);
        const posted = drafts
          .filter(({ postings, type }) => postings.length > 0 && type !== 'payment.fee_reported')
          // A dispute's result can be reversed more than once, so a result can be posted again.
          .filter(({ type }) => type !== 'dispute.closed')
          .map(
            ({ type, subject }) =>
              `${type} ${subject === undefined ? 'own' : JSON.stringify({ ...subject, status: undefined })}`,
          );
        expect(new Set(posted).size).toBe(posted.length);
        const disputed = netDebitMinor(
          'disputes',
          'EUR',
          drafts.flatMap(({ postings }) => postings),
        );
        const taken = [...state.disputes.values()].filter(({ status }) => status !== 'won');
        expect(disputed).toBe(taken.reduce((sum, { amountMinor }) => sum + amountMinor, 0));
        const last = facts.at(-1);
        if (last === undefined) return;
        const again = decide(last, state);
        if (again.kind === 'append')
          throw new Error(`the repeated fact took effect twice: ${JSON.stringify(again.draft)}`);
      }),
      { numRuns: whole(2_000, { slice: 500 }) },
    );
  });

  test('never refunds more than the captured amount, and its amounts agree with its postings', () => {
    fc.assert(
      fc.property(sequences, (facts) => {
        const { drafts, state } = after(facts);
        const postings = drafts.flatMap((draft) => draft.postings);
        const { payment } = state;
        expect(payment.amountRefundedMinor).toBeLessThanOrEqual(payment.amountCapturedMinor);
        expect(payment.amountRefundedMinor).toBe(netDebitMinor('refunds', 'EUR', postings));
        expect(payment.amountCapturedMinor + netDebitMinor('merchant_payable', 'EUR', postings)).toBe(0);
        expect(payment.feeMinor ?? 0).toBe(netDebitMinor('fees', 'EUR', postings));
        expect(payment.otherFees?.[0]?.amountMinor ?? 0).toBe(netDebitMinor('fees', 'USD', postings));
        expect(netDebitMinor('late_receipts', 'EUR', postings)).toBeLessThanOrEqual(0);
      }),
      { numRuns: whole(2_000, { slice: 500 }) },
    );
  });
});

describe('the merchant’s view of a payment', () => {
  const placed = pendingTransition(paymentIdFor('tables'));
  const first = detailsOf(placed);
  const shownOf = (payment: TransitionDraft['payment']) => {
    const object = paymentObject(payment, first);
    return JSON.stringify(SHOWN.map((name) => object[name]));
  };

  test('changes only with events for merchants, and the lists show the change', () => {
    fc.assert(
      fc.property(fc.array(anyFact, { maxLength: 14 }), (facts) => {
        const chain = [placed];
        for (const draft of after(facts).drafts) {
          const known = chainOf(chain);
          const before = shownOf(known.newest.payment);
          const newest = nextTransition(systemDigest, known, draft, requestedAt(created.payment.createdAtMs));
          chain.push(newest);
          const { payment, type, subject } = newest;
          if (!isPublicType(type)) expect([type, shownOf(payment)]).toEqual([type, before]);
          if (!isOutcome(type)) continue;
          const { heads, owner } = viewsOf(eventOf(systemDigest, newest, first));
          const [head, dispute] = heads;
          expect(head?.list).toBe(statusPartition(owner, payment.status, payment.id));
          const listed = dispute && (JSON.parse(dispute.body) as DisputeHeadBody).status;
          expect(listed).toBe(subject?.kind === 'dispute' ? subject.status : undefined);
        }
      }),
      { numRuns: whole(1_000, { slice: 400 }) },
    );
  });

  test('changes only in cells of the state tables that publish an event for merchants', () => {
    const appends = (cells: readonly Cell[]) => cells.flatMap((cell) => (cell.does === 'append' ? [cell] : []));
    const cellsOf = (table: Readonly<Record<string, Readonly<Record<string, Cell>>>>) =>
      appends(Object.values(table).flatMap((row) => Object.values(row)));
    const ofCharges = PAYMENT_STATUSES.flatMap((known) =>
      appends(Object.values(CHARGE_TABLE).map((row) => row[known])).filter(({ status = known }) => status !== known),
    );
    const ofRefunds = cellsOf(REFUND_TABLE).filter(({ posts }) => posts !== undefined);
    const changes = [...ofCharges, ...ofRefunds, ...cellsOf(DISPUTE_TABLE)];
    expect(changes.length).toBeGreaterThan(30);
    expect(changes.filter(({ type }) => !isPublicType(type))).toEqual([]);
  });
});

describe('the state tables', () => {
  test('never change the final status of a payment, but record money that arrives after a failure or a cancellation', () => {
    for (const row of Object.values(CHARGE_TABLE)) {
      for (const status of ['succeeded', 'failed', 'canceled'] as const) {
        const cell = row[status];
        if (cell.does === 'append') expect(cell.status).toBeUndefined();
      }
    }
    const money = ['authorized', 'succeeded', 'wrong_amount', 'stray_money'] as const;
    const late = money.flatMap((fact) => [CHARGE_TABLE[fact].failed, CHARGE_TABLE[fact].canceled]);
    for (const cell of late) expect(cell).toMatchObject({ does: 'append', type: 'payment.late_success' });
  });

  test('give a reason for each fact without effect', () => {
    const tables: readonly Readonly<Record<string, Readonly<Record<string, Cell>>>>[] = [
      CHARGE_TABLE,
      REFUND_TABLE,
      DISPUTE_TABLE,
    ];
    const cells = tables.flatMap((table) => Object.values(table)).flatMap((row) => Object.values(row));
    expect(cells).toHaveLength(15 * 7 + 4 * 5 + 3 * 4);
    for (const cell of cells) if (cell.does !== 'append') expect(cell.because.length).toBeGreaterThan(5);
  });
});
