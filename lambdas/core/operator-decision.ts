import { book } from './bookings.ts';
import type { OperatorDecision, Payment, TransitionDraft } from './payment.ts';
import type { PaymentState } from './payment-state.ts';

/** What an operator says of a payment that waits for a person, having looked where no program could. */
export interface DecisionRequest {
  readonly decisionId: string;
  readonly outcome: 'succeeded' | 'failed';
  /** The charge that was found; needed when the payment does not know it. */
  readonly chargeId?: string;
  readonly reason: string;
  /** Who answers for it. */
  readonly operator: string;
}

/** In order of precedence. */
export type DecisionOutcome =
  /** It is in the chain. */
  | { readonly kind: 'made_before' }
  | { readonly kind: 'not_in_review'; readonly status: Payment['status'] }
  /** A success is of a charge, and nobody has said of which. */
  | { readonly kind: 'charge_unnamed' }
  | { readonly kind: 'append'; readonly draft: TransitionDraft };

/** A person's word settles what no evidence has; it is recorded with the name of who gave it. */
export function decideByOperator(
  { decisionId, outcome, chargeId, reason, operator }: DecisionRequest,
  { payment, decisions }: PaymentState,
): DecisionOutcome {
  if (decisions.has(decisionId)) return { kind: 'made_before' };
  if (payment.status !== 'needs_review') return { kind: 'not_in_review', status: payment.status };
  const subject: OperatorDecision = { kind: 'decision', decisionId, reason, operator };
  const { failure: _undecidable, ...lasting } = payment;
  if (outcome === 'failed') {
    const failure = { code: 'decided_by_operator', message: 'An operator found that nobody was charged.' };
    const failed: Payment = { ...lasting, status: 'failed', failure };
    return { kind: 'append', draft: { type: 'payment.failed', payment: failed, postings: [], subject } };
  }
  const charged = chargeId ?? payment.chargeId;
  if (charged === undefined) return { kind: 'charge_unnamed' };
  const { amountMinor, currency } = payment;
  const succeeded: Payment = { ...lasting, status: 'succeeded', chargeId: charged, amountCapturedMinor: amountMinor };
  const postings = book('receipt', { amountMinor, currency });
  return { kind: 'append', draft: { type: 'payment.completed', payment: succeeded, postings, subject } };
}
