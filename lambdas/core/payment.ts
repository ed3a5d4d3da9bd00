import type { Mode, PaymentId, TenantId } from './ids.ts';
import type { Posting } from './posting.ts';
import { transfer } from './posting.ts';

/** `processing` covers both "not asked yet" and "asked, not known": nothing may be concluded from it. */
type PaymentStatus =
  | 'processing'
  | 'requires_action'
  | 'requires_capture'
  | 'succeeded'
  | 'failed'
  | 'canceled'
  | 'needs_review';

export type CaptureMode = 'automatic' | 'manual';

export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** The failure code of a payment that was never sent to the processor, or provably never arrived there. */
export const NOT_ATTEMPTED = 'not_attempted';

/** A payment as it stands after a transition. What never changes and may be long is kept on the first transition only. */
export interface Payment {
  readonly id: PaymentId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly status: PaymentStatus;
  /** Minor units. */
  readonly amountMinor: number;
  /** Minor units. */
  readonly amountCapturedMinor: number;
  /** Minor units. */
  readonly amountRefundedMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly capture: CaptureMode;
  readonly reference?: string;
  readonly processorName: string;
  readonly chargeId?: string;
  readonly failure?: Failure;
  readonly createdAtMs: number;
}

/** `payment.created` is pending: it says that the processor may be asked. All others are outcomes, and events. */
export type TransitionType =
  | 'payment.created'
  | 'payment.processing'
  | 'payment.authorized'
  | 'payment.completed'
  | 'payment.failed'
  | 'payment.review_required';

export const PENDING_TYPES: ReadonlySet<TransitionType> = new Set(['payment.created']);

/** What became known about the charge of a payment. */
export type ChargeFact =
  | { readonly kind: 'succeeded'; readonly chargeId: string }
  | { readonly kind: 'authorized'; readonly chargeId: string }
  | { readonly kind: 'declined' | 'rejected'; readonly chargeId?: string; readonly failure: Failure }
  /** Asked, and no answer could be had in the time that a client waits. */
  | { readonly kind: 'unknown' }
  /** Proven: nothing was ever sent, or nothing arrived and nothing can arrive any more. */
  | { readonly kind: 'not_attempted' }
  /** Neither proof can ever be had: a person decides. */
  | { readonly kind: 'undecidable' };

/** A transition before it has its place in the chain. */
export interface TransitionDraft {
  readonly type: TransitionType;
  readonly payment: Payment;
  readonly postings: readonly Posting[];
}

export type Decision = { readonly kind: 'append'; readonly draft: TransitionDraft } | { readonly kind: 'nothing' };

const NOTHING: Decision = { kind: 'nothing' };

/** Whether a charge may still be under way: the only state that a retry may take over. */
export function isUnresolved(payment: Payment): boolean {
  return payment.status === 'processing';
}

/** Whether the merchant's `reference` may be used for another payment. */
export function freesReference(payment: Payment): boolean {
  return payment.status === 'failed' || payment.status === 'canceled';
}

/** The first transition: it reserves the id and says that the processor may be asked. */
export function create(
  payment: Omit<Payment, 'status' | 'amountCapturedMinor' | 'amountRefundedMinor'>,
): TransitionDraft {
  return {
    type: 'payment.created',
    payment: { ...payment, status: 'processing', amountCapturedMinor: 0, amountRefundedMinor: 0 },
    postings: [],
  };
}

/**
 * What a fact about its charge means for a payment. A fact that is known already changes nothing; a contradiction never
 * moves a payment backwards: it is recorded and handed to a person.
 *
 * @param lastType the type of the payment's newest transition
 */
export function decide(fact: ChargeFact, payment: Payment, lastType: TransitionType): Decision {
  switch (payment.status) {
    case 'processing':
      return decideOpen(fact, payment, lastType);
    case 'failed':
    case 'canceled':
    case 'needs_review':
      return decideEnded(fact, payment);
    case 'requires_action':
      return fact.kind === 'unknown' ? NOTHING : decideOpen(fact, payment, lastType);
    case 'requires_capture':
    case 'succeeded':
      // What the processor once confirmed stands; a refusal heard later belongs to another attempt with the same key.
      return NOTHING;
  }
}

function decideOpen(fact: ChargeFact, payment: Payment, lastType: TransitionType): Decision {
  switch (fact.kind) {
    case 'succeeded':
      return append('payment.completed', {
        payment: { ...payment, status: 'succeeded', chargeId: fact.chargeId, amountCapturedMinor: payment.amountMinor },
        postings: transfer('processor_clearing', 'merchant_payable', payment.amountMinor, payment.currency),
      });
    case 'authorized':
      return append('payment.authorized', {
        payment: { ...payment, status: 'requires_capture', chargeId: fact.chargeId },
        postings: [],
      });
    case 'declined':
    case 'rejected':
      return fail(payment, ofProcessor(fact.failure), fact.chargeId);
    case 'not_attempted':
      return fail(payment, { code: NOT_ATTEMPTED, message: 'The processor was never asked for this payment.' });
    case 'undecidable':
      return review(payment, {
        code: 'outcome_undecidable',
        message: 'Whether the processor charged cannot be found out.',
      });
    case 'unknown':
      return lastType === 'payment.processing' ? NOTHING : append('payment.processing', { payment, postings: [] });
  }
}

/** A payment that has ended, or waits for a person. Money that turns up now is owed back to the payer. */
function decideEnded(fact: ChargeFact, payment: Payment): Decision {
  switch (fact.kind) {
    case 'succeeded':
    case 'authorized': {
      if (payment.chargeId === fact.chargeId && payment.status === 'needs_review') return NOTHING;
      const failure = {
        code: 'late_success',
        message: 'The processor charged although this payment had already ended.',
      };
      const moved = fact.kind === 'succeeded';
      return append('payment.review_required', {
        payment: { ...payment, status: 'needs_review', chargeId: fact.chargeId, failure },
        postings: moved ? transfer('processor_clearing', 'late_receipts', payment.amountMinor, payment.currency) : [],
      });
    }
    case 'declined':
    case 'rejected':
    case 'not_attempted':
    case 'undecidable':
    case 'unknown':
      return NOTHING;
  }
}

/** A processor's word for a refusal cannot be one of ours, which mean something else. */
function ofProcessor(failure: Failure): Failure {
  return failure.code === NOT_ATTEMPTED ? { ...failure, code: `processor_${failure.code}` } : failure;
}

function fail(payment: Payment, failure: Failure, chargeId?: string): Decision {
  const failed: Payment = { ...payment, status: 'failed', failure };
  return append('payment.failed', {
    payment: chargeId === undefined ? failed : { ...failed, chargeId },
    postings: [],
  });
}

function review(payment: Payment, failure: Failure): Decision {
  return append('payment.review_required', { payment: { ...payment, status: 'needs_review', failure }, postings: [] });
}

function append(type: TransitionType, after: Omit<TransitionDraft, 'type'>): Decision {
  return { kind: 'append', draft: { type, ...after } };
}
