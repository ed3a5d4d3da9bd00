import { invariant } from '../../kernel/invariant.ts';
import type { Correction, Dispute, HoldChange, OperatorDecision, Payment, Refund, StrayCharge } from './payment.ts';
import type { Transition } from './transition.ts';

/** A payment with its refunds, disputes and other parts. The next fact is decided on this state. */
export interface PaymentState {
  readonly payment: Payment;
  /** Whether `payment.processing` was recorded: a 202 answer may be stored. */
  readonly saidProcessing: boolean;
  /** Keyed by id, as are the other maps. */
  readonly refunds: ReadonlyMap<string, Refund>;
  readonly holdChanges: ReadonlyMap<string, HoldChange>;
  readonly disputes: ReadonlyMap<string, Dispute>;
  readonly strayCharges: ReadonlyMap<string, StrayCharge>;
  readonly corrections: ReadonlyMap<string, Correction>;
  readonly decisions: ReadonlyMap<string, OperatorDecision>;
}

type Step = Pick<Transition, 'type' | 'payment' | 'subject'>;

/** The state after one more transition. */
export function evolve(state: PaymentState | undefined, { type, payment, subject }: Step): PaymentState {
  const { refunds, holdChanges, disputes, strayCharges, corrections, decisions } = state ?? NOTHING_YET;
  const saidProcessing = state?.saidProcessing === true || type === 'payment.processing';
  const next = { payment, saidProcessing, refunds, holdChanges, disputes, strayCharges, corrections, decisions };
  switch (subject?.kind) {
    case undefined:
      return next;
    case 'refund':
      return { ...next, refunds: new Map(refunds).set(subject.refundId, subject), ...decided(decisions, subject) };
    case 'capture':
    case 'void':
      return {
        ...next,
        holdChanges: new Map(holdChanges).set(subject.operationId, subject),
        ...decided(decisions, subject),
      };
    case 'dispute':
      return { ...next, disputes: new Map(disputes).set(subject.disputeId, subject) };
    case 'stray_charge':
      return { ...next, strayCharges: new Map(strayCharges).set(subject.chargeId, subject) };
    case 'correction':
      return { ...next, corrections: new Map(corrections).set(subject.correctionId, subject) };
    case 'decision':
      return { ...next, decisions: new Map(decisions).set(subject.decisionId, subject) };
  }
}

function decided(
  decisions: PaymentState['decisions'],
  { decision }: Refund | HoldChange,
): Partial<Pick<PaymentState, 'decisions'>> {
  return decision === undefined ? {} : { decisions: new Map(decisions).set(decision.decisionId, decision) };
}

const NOTHING_YET = {
  refunds: new Map(),
  holdChanges: new Map(),
  disputes: new Map(),
  strayCharges: new Map(),
  corrections: new Map(),
  decisions: new Map(),
};

/** @param transitions all transitions of one payment, oldest first; at least one */
export function stateAfter(transitions: readonly Step[]): PaymentState {
  let state: PaymentState | undefined;
  for (const transition of transitions) state = evolve(state, transition);
  invariant(state !== undefined, 'a payment has a first transition');
  return state;
}
