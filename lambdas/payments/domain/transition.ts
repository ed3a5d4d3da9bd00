import type { Cause, Occasion } from '../../kernel/cause.ts';
import { defined } from '../../kernel/defined.ts';
import { type Digest, sameBytes } from '../../kernel/digest.ts';
import { everyField } from '../../kernel/fields.ts';
import { brokenLink, hex, type Link, linkHash, NO_PREDECESSOR } from '../../kernel/hash-chain.ts';
import type { OrderId, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Seal, sealOf } from '../../kernel/sealed-details.ts';
import { mapReasons, withoutReasons } from './given-reason.ts';
import {
  notesFields,
  notesOf,
  type OperatorDecision,
  type Payment,
  type PaymentNotes,
  type PaymentTerms,
  type ShownNotes,
  type Subject,
  type TransitionDraft,
  type TransitionType,
  termsOf,
} from './payment.ts';
import { evolve, type PaymentState } from './payment-state.ts';
import { type BegunChanges, NO_SUMS, type PaymentSums, storedBegun } from './payment-sums.ts';
import type { Posting } from './posting.ts';
import { assertBalanced } from './posting.ts';

/** Fields that are stored on the first transition only, because they are long or never change. */
export interface StoredDetails {
  /**
   * The id of the request that created the payment. Later responses repeat this id, so that all responses have the same
   * bytes.
   */
  readonly requestId: string;
  /** The processor account that the charge was sent to. Later attempts use it even if the settings have changed. */
  readonly processor: { readonly account: string; readonly endpoint: string; readonly apiVersion: string };
  readonly orderId?: OrderId;
  /** The `event_id` of the event that requested the payment. The payment's events contain this id. */
  readonly causationId?: string;
  /** Commitment to the notes: their salted hash. Absent when there are no notes. */
  readonly commitment?: Seal['commitment'];
}

/**
 * The stored details together with the notes, which have a separate details row. The hash chain covers the notes only
 * through their commitment.
 */
export interface FirstDetails extends StoredDetails, ShownNotes, Partial<Pick<Seal, 'salt'>> {
  /** Keyed hash of a new payment's `receipt_email`, by which an index finds the details row. */
  readonly emailHash?: string;
}

/** One row of the Ledger. */
export interface Transition {
  /** The position in the chain, from 1. */
  readonly sequence: number;
  readonly type: TransitionType;
  readonly occurredAtMs: number;
  readonly cause: Cause;
  readonly payment: Payment;
  readonly postings: readonly Posting[];
  readonly subject?: Subject;
  readonly first?: FirstDetails;
  /**
   * The sums after the transition. Absent in rows of older versions, and if the payment's own charge is also recorded
   * as a stray charge.
   */
  readonly sums?: PaymentSums;
  /** Present only if the transition begins a change. Absent if {@link storedBegun} returns undefined. */
  readonly begun?: BegunChanges;
  /** The hash of the previous transition; 32 zero bytes for the first. */
  readonly prevHash: Uint8Array;
  /** SHA-256 over the fields above. Personal data is covered only through its commitments. */
  readonly hash: Uint8Array;
}

export function firstTransition(
  digest: Digest,
  draft: TransitionDraft,
  first: FirstDetails,
  { occurredAtMs, cause }: Occasion,
): Transition {
  return seal(digest, { sequence: 1, ...draft, occurredAtMs, cause, first, sums: NO_SUMS }, NO_PREDECESSOR);
}

export function nextTransition(
  digest: Digest,
  { newest, state }: { readonly newest: Transition; readonly state: PaymentState },
  draft: TransitionDraft,
  { occurredAtMs, cause }: Occasion,
): Transition {
  const sums = storedSums(state, draft);
  return seal(digest, { sequence: newest.sequence + 1, ...draft, occurredAtMs, cause, ...sums }, newest.hash);
}

function storedSums(before: PaymentState, draft: TransitionDraft): Pick<Transition, 'sums' | 'begun'> {
  const { payment, sums, buckets, strayCharges } = evolve(before, draft);
  if (payment.chargeId !== undefined && strayCharges.has(payment.chargeId)) return {};
  if (sums.begunAt === before.sums.begunAt) return { sums };
  const begun = storedBegun(buckets, sums.begunAt);
  return { sums, ...defined({ begun }) };
}

type Unsealed = Omit<Transition, 'prevHash' | 'hash'>;

function seal(digest: Digest, unsealed: Unsealed, prevHash: Uint8Array): Transition {
  assertBalanced(unsealed.postings);
  return { ...unsealed, prevHash, hash: transitionHash(digest, unsealed, prevHash) };
}

export function transitionHash(digest: Digest, unsealed: Unsealed, prevHash: Uint8Array): Uint8Array {
  const { first, subject, ...others } = unsealed;
  const rest = subject === undefined ? others : { ...others, subject: covered(subject) };
  if (first === undefined) return linkHash(digest, rest, prevHash);
  const { commitment, ...stored } = storedDetails(first);
  const details = { ...stored, ...(commitment === undefined ? {} : { commitment: hex(commitment) }) };
  return linkHash(digest, { ...rest, first: details }, prevHash);
}

function covered(subject: Subject): object {
  return mapReasons(withoutReasons(subject), (given) =>
    given.commitment === undefined
      ? given
      : ({ ...given, commitment: hex(given.commitment) } as unknown as typeof given),
  );
}

/**
 * Checks one payment's transitions, oldest first.
 *
 * @param before the preceding transition @default none: `transitions` begin the chain
 * @returns the sequence of the first transition with a wrong link, hash or sequence, or undefined when all are correct
 */
export function firstBrokenLink(digest: Digest, transitions: readonly Transition[], before?: Link): number | undefined {
  return brokenLink(
    transitions,
    ({ prevHash, hash: _claimed, ...unsealed }) => transitionHash(digest, unsealed, prevHash),
    before,
  );
}

export function storedDetails({ requestId, processor, orderId, causationId, commitment }: FirstDetails): StoredDetails {
  return everyField<StoredDetails>({ requestId, processor, orderId, causationId, commitment });
}

/** @param salt fresh for each payment */
export function sealedNotes(digest: Digest, notes: PaymentNotes, salt: Uint8Array): PaymentNotes & Partial<Seal> {
  const { description, metadata = {}, returnUrl } = notes;
  if (description === undefined && returnUrl === undefined && Object.keys(metadata).length === 0) return {};
  return { ...notes, ...sealOf(digest, notes, salt) };
}

/** @param salt fresh for each payment */
export function notesOfNew(
  digest: Digest,
  { orderId, ...request }: PaymentNotes & Pick<StoredDetails, 'orderId'>,
  salt: Uint8Array,
): PaymentNotes & Partial<Seal> {
  const notes = notesOf(request);
  if (orderId === undefined) return sealedNotes(digest, notes, salt);
  const ofOrder = notesOfOrder({ orderId });
  if (Object.keys(notes).length === 0) return ofOrder;
  return sealedNotes(digest, { ...notes, metadata: { ...notes.metadata, ...ofOrder.metadata } }, salt);
}

/**
 * Used when the request's record no longer exists. The chain stores no fingerprint of the request, so the terms are
 * compared directly and the notes by their commitment. Erased notes are not compared.
 */
export function isRequestedBy(
  digest: Digest,
  first: Transition,
  request: PaymentTerms & PaymentNotes & Pick<StoredDetails, 'orderId'>,
): boolean {
  const terms = (of: PaymentTerms) => digest.canonicalJson(termsOf(of));
  if (terms(first.payment) !== terms(request)) return false;
  const { commitment, salt = new Uint8Array(), detailsErased } = detailsOf(first);
  if (detailsErased) return true;
  const { commitment: asked } = notesOfNew(digest, request, salt);
  return asked === undefined || commitment === undefined ? asked === commitment : sameBytes(asked, commitment);
}

/** As JSON fields; undefined when there is no personal data. */
export function personalFields(first: FirstDetails): string | undefined {
  return first.commitment === undefined ? undefined : notesFields(first);
}

/** The notes contain the order id and no personal data, so they need no details row. */
export function notesOfOrder({ orderId }: Pick<StoredDetails, 'orderId'>): PaymentNotes {
  return orderId === undefined ? {} : { metadata: { order: orderId } };
}

export function detailsOf(transition: Transition): FirstDetails {
  invariant(transition.first !== undefined, `transition ${transition.sequence} has no details of a first transition`);
  return transition.first;
}

export interface TransitionPlace {
  readonly paymentId: PaymentId;
  readonly sequence: number;
}

export type OutcomePlace = TransitionPlace | { readonly orderId: OrderId; readonly sequence: number };

export function decisionOf({ subject }: Pick<Transition, 'subject'>): OperatorDecision | undefined {
  if (subject?.kind === 'decision') return subject;
  return subject !== undefined && 'decision' in subject ? subject.decision : undefined;
}
