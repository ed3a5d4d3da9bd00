import type { Digest } from '../../kernel/digest.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import { printed } from '../../kernel/fingerprint.ts';
import { brokenLink, linkHash, NO_PREDECESSOR } from '../../kernel/hash-chain.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Payment, Subject, TransitionDraft, TransitionType } from './payment.ts';
import type { Posting } from './posting.ts';
import { assertBalanced } from './posting.ts';

/** What is said once, on the first transition, because it is long or never changes. */
export interface FirstDetails {
  readonly description?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The request that made the payment; answers rendered later carry it too, so that all answers are the same bytes. */
  readonly requestId: string;
  readonly fingerprint: Fingerprint;
  /** Where the charge was sent: later attempts go to the same place, whatever the settings say by then. */
  readonly processor: { readonly account: string; readonly endpoint: string; readonly apiVersion: string };
}

/** One row of the Ledger: the state after it, its postings, its event and its link in the audit chain. */
export interface Transition {
  /** 1 for the first. */
  readonly sequence: number;
  readonly type: TransitionType;
  readonly occurredAtMs: number;
  readonly payment: Payment;
  readonly postings: readonly Posting[];
  readonly subject?: Subject;
  readonly first?: FirstDetails;
  /** SHA-256 of the transition before; 32 zero bytes for the first. */
  readonly prevHash: Uint8Array;
  /** SHA-256 over `prevHash` and all of the above. */
  readonly hash: Uint8Array;
}

/** Gives a first draft its place: number 1 of a new chain. */
export function firstTransition(
  digest: Digest,
  draft: TransitionDraft,
  first: FirstDetails,
  occurredAtMs: number,
): Transition {
  return seal(digest, { sequence: 1, ...draft, occurredAtMs, first }, NO_PREDECESSOR);
}

/** Gives a draft its place behind `newest`. */
export function nextTransition(
  digest: Digest,
  newest: Transition,
  draft: TransitionDraft,
  occurredAtMs: number,
): Transition {
  return seal(digest, { sequence: newest.sequence + 1, ...draft, occurredAtMs }, newest.hash);
}

type Unsealed = Omit<Transition, 'prevHash' | 'hash'>;

function seal(digest: Digest, unsealed: Unsealed, prevHash: Uint8Array): Transition {
  assertBalanced(unsealed.postings);
  return { ...unsealed, prevHash, hash: hashOf(digest, unsealed, prevHash) };
}

function hashOf(digest: Digest, unsealed: Unsealed, prevHash: Uint8Array): Uint8Array {
  const { first, ...rest } = unsealed;
  const content =
    first === undefined ? rest : { ...rest, first: { ...first, fingerprint: printed(first.fingerprint) } };
  return linkHash(digest, content, prevHash);
}

/**
 * Checks one payment's transitions, oldest first.
 *
 * @returns the sequence of the first transition whose link, hash or number does not hold, or undefined when all hold
 */
export function firstBrokenLink(digest: Digest, transitions: readonly Transition[]): number | undefined {
  return brokenLink(transitions, ({ prevHash, hash: _claimed, ...unsealed }) => hashOf(digest, unsealed, prevHash));
}

/** @throws InvariantViolation when `transition` is not a payment's first */
export function detailsOf(transition: Transition): FirstDetails {
  invariant(transition.first !== undefined, `transition ${transition.sequence} carries no first details`);
  return transition.first;
}
