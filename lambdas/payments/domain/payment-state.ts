import { invariant } from '../../kernel/invariant.ts';
import type {
  Annotation,
  Correction,
  Dispute,
  HoldChange,
  OperatorDecision,
  Payment,
  Refund,
  StrayCharge,
} from './payment.ts';
import type { Transition } from './transition.ts';

/** A payment with its refunds, disputes and other parts. `decide` applies the next fact to this state. */
export interface PaymentState {
  readonly payment: Payment;
  /** Whether `payment.processing` was recorded, so that a 202 response may be stored. */
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

type Step = Pick<Transition, 'type' | 'payment' | 'subject'>;

/** Returns the state after one more transition. */
export function evolve(state: PaymentState, step: Step): PaymentState {
  return fold(state, [step]);
}

/**
 * Returns the state after a whole chain.
 * @param transitions all transitions of one payment, oldest first; at least one
 */
export function stateAfter(transitions: readonly Step[]): PaymentState {
  return fold(undefined, transitions);
}

/** Applies transitions to a state. Linear in the number of transitions: the maps are copied only once. */
function fold(before: PaymentState | undefined, steps: readonly Step[]): PaymentState {
  const refunds = new Map(before?.refunds);
  const holdChanges = new Map(before?.holdChanges);
  const strayCharges = new Map(before?.strayCharges);
  const corrections = new Map(before?.corrections);
  const decisions = new Map(before?.decisions);
  const annotations = new Map(before?.annotations);
  let payment = before?.payment;
  let isProcessingRecorded = before?.isProcessingRecorded ?? false;
  for (const { type, payment: after, subject } of steps) {
    payment = after;
    isProcessingRecorded ||= type === 'payment.processing';
    switch (subject?.kind) {
      case undefined:
      case 'dispute':
        break;
      case 'refund':
        refunds.set(subject.refundId, subject);
        break;
      case 'capture':
      case 'void':
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
  const disputes = new Map(payment.disputes?.map((dispute) => [dispute.disputeId, dispute]));
  return {
    payment,
    isProcessingRecorded,
    refunds,
    holdChanges,
    disputes,
    strayCharges,
    corrections,
    decisions,
    annotations,
  };
}
