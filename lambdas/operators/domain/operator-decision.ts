import { defined } from '../../kernel/defined.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { book } from '../../payments/domain/bookings.ts';
import {
  changeOf,
  decideChangeFailed,
  isUnderWay,
  operationIdOf,
  type PendingChange,
} from '../../payments/domain/change.ts';
import { type Decision, decide } from '../../payments/domain/decide.ts';
import { shownReason } from '../../payments/domain/given-reason.ts';
import type { Failure, OperatorDecision, Payment, TransitionDraft } from '../../payments/domain/payment.ts';
import { DECIDED_BY_OPERATOR, WRONG_AMOUNT } from '../../payments/domain/payment.ts';
import type { PaymentState } from '../../payments/domain/payment-state.ts';
import { postingObject } from '../../payments/domain/posting.ts';
import { OUTCOME_KNOWN_WITHIN_MS } from '../../payments/domain/settlement.ts';
import type { Transition } from '../../payments/domain/transition.ts';

/** The operator has determined the outcome outside of Payonce. */
export interface DecisionRequest {
  readonly decisionId: string;
  readonly outcome: 'succeeded' | 'failed';
  /** @default the payment itself */
  readonly change?: OperationId;
  /** The charge that the operator found. Required for the decision that a payment without a charge id succeeded. */
  readonly chargeId?: string;
  /**
   * Captured amount in minor units. Required for the decision that a payment in review with the failure code
   * `wrong_amount` succeeded.
   * @default the requested amount
   */
  readonly takenMinor?: number;
  /**
   * Decides even though the processor's books cannot be read.
   *
   * @default the decision is compared with the books
   */
  readonly override?: true;
  readonly reason: string;
  readonly operator: string;
}

/** In order of precedence. */
export type DecisionOutcome =
  | { readonly kind: 'made_before' }
  | { readonly kind: 'not_in_review'; readonly status: Payment['status'] }
  | { readonly kind: 'change_not_found' }
  | { readonly kind: 'change_ended' }
  /** Until `fromMs`, the resolver can still find an outcome that contradicts the decision. */
  | { readonly kind: 'change_too_young'; readonly fromMs: number }
  /** The decision contradicts the Ledger. `because` contains the reason. */
  | { readonly kind: 'impossible'; readonly because: string }
  /** According to the request, the payment succeeded, but neither the payment nor the request contains a charge id. */
  | { readonly kind: 'charge_unnamed' }
  /** The captured amount differs from the requested amount, and the request does not state the captured amount. */
  | { readonly kind: 'amount_unnamed' }
  | { readonly kind: 'append'; readonly draft: TransitionDraft };

export function decideByOperator(request: DecisionRequest, state: PaymentState): DecisionOutcome {
  const { decisionId, outcome, chargeId, takenMinor } = request;
  const { payment, decisions } = state;
  if (decisions.has(decisionId)) return { kind: 'made_before' };
  if (payment.status !== 'needs_review') return { kind: 'not_in_review', status: payment.status };
  const subject = recorded(request);
  const { failure: why, ...lasting } = payment;
  if (outcome === 'failed') {
    const message = 'An operator decided that the payment failed. Captured money, if any, is returned to the payer.';
    const failure = { code: DECIDED_BY_OPERATOR, message };
    const failed: Payment = { ...lasting, status: 'failed', failure };
    return { kind: 'append', draft: { type: 'payment.failed', payment: failed, postings: [], subject } };
  }
  const charged = chargeId ?? payment.chargeId;
  if (charged === undefined) return { kind: 'charge_unnamed' };
  if (state.strayCharges.has(charged)) {
    return {
      kind: 'impossible',
      because: 'the charge is recorded as a stray charge, and its money is returned to the payer',
    };
  }
  if (why?.code === WRONG_AMOUNT && takenMinor === undefined) return { kind: 'amount_unnamed' };
  const amountMinor = takenMinor ?? payment.amountMinor;
  if (amountMinor > payment.amountMinor) {
    return {
      kind: 'impossible',
      because: 'more was captured than was requested; decide `failed`, and Payonce returns the money',
    };
  }
  const succeeded: Payment = { ...lasting, status: 'succeeded', chargeId: charged, amountCapturedMinor: amountMinor };
  const postings = book('receipt', { amountMinor, currency: payment.currency });
  return { kind: 'append', draft: { type: 'payment.completed', payment: succeeded, postings, subject } };
}

/**
 * The effect is the same as if the processor had reported the outcome.
 *
 * @param begunAtMs the time at which the change was requested
 */
export function decideChangeByOperator(
  request: DecisionRequest & { readonly change: OperationId },
  state: PaymentState,
  { begunAtMs, nowMs }: { readonly begunAtMs: number; readonly nowMs: number },
): DecisionOutcome {
  const { decisionId, outcome, change: operationId } = request;
  if (state.decisions.has(decisionId)) return { kind: 'made_before' };
  const change = changeOf(state, operationId);
  if (change === undefined) return { kind: 'change_not_found' };
  if (!isUnderWay(change, state)) return { kind: 'change_ended' };
  const fromMs = begunAtMs + OUTCOME_KNOWN_WITHIN_MS;
  if (nowMs < fromMs) return { kind: 'change_too_young', fromMs };
  const meant = outcome === 'failed' ? decideChangeFailed(change, NOT_DONE, state) : decideDone(change, state);
  if (meant.kind !== 'append') return { kind: 'impossible', because: meant.because };
  return { kind: 'append', draft: signed(meant.draft, recorded(request)) };
}

function recorded({ decisionId, reason, operator, override }: DecisionRequest): OperatorDecision {
  return { kind: 'decision', decisionId, reason, operator, ...defined({ override }) };
}

const NOT_DONE: Failure = {
  code: DECIDED_BY_OPERATOR,
  message: 'An operator found that the processor has not made the change.',
};

function decideDone(change: PendingChange, state: PaymentState): Decision {
  if (change.kind === 'refund') return decide({ ...change, status: 'succeeded' }, state);
  const { chargeId } = state.payment;
  if (chargeId === undefined) return { kind: 'nothing', because: 'there is no charge' };
  return change.kind === 'capture'
    ? decide({ kind: 'succeeded', chargeId, capturedMinor: change.amountMinor }, state)
    : decide({ kind: 'voided', chargeId, reason: 'requested' }, state);
}

/**
 * A transition has only one subject: if that is the change, the decision is stored inside it; otherwise, the decision
 * becomes the subject.
 */
function signed(draft: TransitionDraft, decision: OperatorDecision): TransitionDraft {
  const { subject } = draft;
  const isChange = subject?.kind === 'refund' || subject?.kind === 'capture' || subject?.kind === 'void';
  return { ...draft, subject: isChange ? { ...subject, decision } : decision };
}

export function decisionObject(transition: Transition, decision: OperatorDecision): Record<string, unknown> {
  const { sequence, type, payment, postings, subject, occurredAtMs } = transition;
  const isChange = subject?.kind === 'refund' || subject?.kind === 'capture' || subject?.kind === 'void';
  return {
    id: decision.decisionId,
    object: 'decision',
    payment: payment.id,
    sequence,
    change: isChange ? operationIdOf(subject) : null,
    outcome: type.endsWith('.failed') ? 'failed' : 'succeeded',
    ...shownReason(decision),
    operator: decision.operator,
    override: decision.override ?? false,
    postings: postings.map(postingObject),
    created: Math.floor(occurredAtMs / 1000),
  };
}
