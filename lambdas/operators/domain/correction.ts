import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import { invariant } from '../../kernel/invariant.ts';
import { shownReason } from '../../payments/domain/given-reason.ts';
import type { Correction, TransitionDraft } from '../../payments/domain/payment.ts';
import type { PaymentState } from '../../payments/domain/payment-state.ts';
import { netDebitMinor, type Posting, postingObject, reversed } from '../../payments/domain/posting.ts';
import type { Transition } from '../../payments/domain/transition.ts';

export interface CorrectionRequest {
  readonly correctionId: string;
  readonly reason: string;
  readonly operator: string;
  readonly change:
    | { readonly kind: 'reverse'; readonly sequence: number }
    /** Amounts in minor units of the payment's currency. */
    | { readonly kind: 'post'; readonly legs: readonly Omit<Posting, 'currency'>[] };
}

/** In order of precedence. */
export type CorrectionDecision =
  | { readonly kind: 'made_before' }
  | { readonly kind: 'nothing_to_reverse' }
  /** The correction with this id has already reversed the postings. That correction can itself be reversed. */
  | { readonly kind: 'already_reversed'; readonly correctionId: string }
  /** `byMinor` is debits minus credits, in minor units. */
  | { readonly kind: 'unbalanced'; readonly byMinor: number }
  | { readonly kind: 'append'; readonly draft: TransitionDraft };

/** A correction does not change the payment: the captured and refunded amounts always report what the processor did. */
export function decideCorrection(
  { correctionId, reason, operator, change }: CorrectionRequest,
  chain: { readonly state: PaymentState; readonly transitions: readonly Transition[] },
): CorrectionDecision {
  const { payment, corrections } = chain.state;
  if (corrections.has(correctionId)) return { kind: 'made_before' };
  const subject: Correction = { kind: 'correction', correctionId, reason, operator };
  if (change.kind === 'post') {
    const postings = change.legs.map((leg) => ({ ...leg, currency: payment.currency }));
    const byMinor = postings.reduce((sum, leg) => sum + netDebitMinor(leg.account, leg.currency, [leg]), 0);
    if (byMinor !== 0) return { kind: 'unbalanced', byMinor };
    return { kind: 'append', draft: { type: 'ledger.corrected', payment, postings, subject } };
  }
  const { sequence } = change;
  const undone = chain.transitions.find((transition) => transition.sequence === sequence);
  if (undone === undefined || undone.postings.length === 0) return { kind: 'nothing_to_reverse' };
  const earlier = [...corrections.values()].find(({ reverses }) => reverses === sequence);
  if (earlier !== undefined) return { kind: 'already_reversed', correctionId: earlier.correctionId };
  const postings = reversed(undone.postings);
  const draft = { type: 'ledger.corrected' as const, payment, postings, subject: { ...subject, reverses: sequence } };
  return { kind: 'append', draft };
}

export function correctionAnswer(transition: Transition): Answer {
  const body = correctionObject(transition);
  return { status: 201, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify(body) };
}

export function correctionObject(transition: Transition): Record<string, unknown> {
  const { sequence, payment, postings, subject, occurredAtMs } = transition;
  invariant(subject?.kind === 'correction', 'the subject of the transition is not a correction');
  return {
    id: subject.correctionId,
    object: 'correction',
    payment: payment.id,
    sequence,
    ...shownReason(subject),
    operator: subject.operator,
    reverses: subject.reverses ?? null,
    postings: postings.map(postingObject),
    created: Math.floor(occurredAtMs / 1000),
  };
}
