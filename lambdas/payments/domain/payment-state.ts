import { invariant } from '../../kernel/invariant.ts';
import { isRefundOf } from '../ids.ts';
import { withoutSalts } from './given-reason.ts';
import type {
  Annotation,
  Correction,
  Dispute,
  HoldChange,
  OperatorDecision,
  Payment,
  Refund,
  StrayCharge,
  TransitionDraft,
} from './payment.ts';
import {
  type Bucket,
  NO_BUCKETS,
  NO_SUMS,
  type PaymentSums,
  withBegun,
  withHoldChange,
  withRefund,
  withRefundsRecounted,
} from './payment-sums.ts';

export interface PaymentState {
  readonly payment: Payment;
  readonly sequence: number;
  readonly sums: PaymentSums;
  /** Short hashes of the operations that have begun a change, by bucket (see `BegunChanges`). */
  readonly buckets: readonly Bucket[];
  /** Until `payment.processing` is recorded, no response may be stored while the payment is `processing`. */
  readonly isProcessingRecorded: boolean;
  /** Keyed by id, as are the other maps. */
  readonly refunds: ReadonlyMap<string, Refund>;
  readonly holdChanges: ReadonlyMap<string, HoldChange>;
  readonly disputes: ReadonlyMap<string, Dispute>;
  readonly strayCharges: ReadonlyMap<string, StrayCharge>;
  readonly corrections: ReadonlyMap<string, Correction>;
  readonly decisions: ReadonlyMap<string, OperatorDecision>;
  readonly annotations: ReadonlyMap<string, Annotation>;
}

/**
 * Returns a state without any refund, capture or cancellation, for a decision about a change that has not begun. The
 * sums represent all earlier changes.
 */
export function summedState(known: Pick<PaymentState, 'payment' | 'sequence' | 'sums' | 'buckets'>): PaymentState {
  return {
    ...known,
    // This value has no effect: it matters only while a payment is `processing`, and such a payment cannot be changed.
    isProcessingRecorded: true,
    refunds: new Map(),
    holdChanges: new Map(),
    disputes: disputesOf(known.payment),
    strayCharges: new Map(),
    corrections: new Map(),
    decisions: new Map(),
    annotations: new Map(),
  };
}

function disputesOf({ disputes }: Payment): PaymentState['disputes'] {
  return new Map(disputes?.map((dispute) => [dispute.disputeId, dispute]));
}

type Step = Pick<TransitionDraft, 'type' | 'payment' | 'subject'> & { readonly sequence?: number };

export function evolve(state: PaymentState, step: Step): PaymentState {
  return fold(state, [step]);
}

/** @param transitions all transitions of one payment, oldest first; at least one */
export function stateAfter(transitions: readonly Step[]): PaymentState {
  return fold(undefined, transitions);
}

/** Linear in the number of transitions: the maps are copied only once. */
function fold(before: PaymentState | undefined, steps: readonly Step[]): PaymentState {
  const refunds = new Map(before?.refunds);
  const holdChanges = new Map(before?.holdChanges);
  const strayCharges = new Map(before?.strayCharges);
  const corrections = new Map(before?.corrections);
  const decisions = new Map(before?.decisions);
  const annotations = new Map(before?.annotations);
  let payment = before?.payment;
  let isProcessingRecorded = before?.isProcessingRecorded ?? false;
  let { sequence, sums, buckets } = before ?? { sequence: 0, sums: NO_SUMS, buckets: NO_BUCKETS };
  for (const { type, payment: after, subject: written, sequence: place = sequence + 1 } of steps) {
    const subject = written === undefined ? undefined : withoutSalts(written);
    if (after.chargeId !== payment?.chargeId && refunds.size > 0) {
      sums = withRefundsRecounted(sums, after.chargeId, refunds.values());
    }
    payment = after;
    sequence = place;
    isProcessingRecorded ||= type === 'payment.processing';
    const begin = (operationId: string): void => {
      buckets = withBegun(buckets, operationId, place);
      sums = { ...sums, begunAt: place };
    };
    switch (subject?.kind) {
      case undefined:
      case 'dispute':
        break;
      case 'refund':
        sums = withRefund(sums, after.chargeId, refunds.get(subject.refundId), subject);
        if (!refunds.has(subject.refundId) && isRefundOf(subject.refundId, after.id)) begin(subject.refundId);
        refunds.set(subject.refundId, subject);
        break;
      case 'capture':
      case 'void':
        sums = withHoldChange(sums, holdChanges.get(subject.operationId), subject);
        if (!holdChanges.has(subject.operationId)) begin(subject.operationId);
        holdChanges.set(subject.operationId, subject);
        break;
      case 'stray_charge':
        strayCharges.set(subject.chargeId, subject);
        break;
      case 'correction':
        corrections.set(subject.correctionId, subject);
        break;
      case 'decision':
        decisions.set(subject.decisionId, subject);
        break;
      case 'annotation':
        annotations.set(subject.annotationId, subject);
        break;
    }
    if (subject !== undefined && 'decision' in subject && subject.decision !== undefined) {
      decisions.set(subject.decision.decisionId, subject.decision);
    }
  }
  invariant(payment !== undefined, 'a payment has no transitions');
  return {
    payment,
    sequence,
    sums,
    buckets,
    isProcessingRecorded,
    refunds,
    holdChanges,
    disputes: disputesOf(payment),
    strayCharges,
    corrections,
    decisions,
    annotations,
  };
}
