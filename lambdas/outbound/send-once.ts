import { AmbiguousError, RetryableError, TerminalError } from '../kernel/faults.ts';
import type { CallLimit, Clock } from '../kernel/world.ts';
import {
  type DeadLettered,
  type Fault,
  type Found,
  isFault,
  type OnGivenUp,
  type OutboundCall,
  type Resend,
} from './outbound-calls.ts';
import type { OutboundPolicy } from './outbound-policy.ts';
import type { SendClaimResult, SendingClaims, SendingOwner } from './use/sending-claims.ts';

type Sent = { readonly kind: 'sent'; readonly vendorId: string };

export type SendAnswer =
  | Sent
  /** The vendor refused: nothing was applied, and a retry would be refused again. */
  | { readonly kind: 'refused'; readonly failure: { readonly code: string; readonly message: string } };

/** The possible outcomes of a send, in order of precedence. */
export type SendOutcome =
  | SendAnswer
  /**
   * The request may have been sent but its response is unknown, and the vendor has no look-up. An operator must decide;
   * the request is never sent again.
   */
  | { readonly kind: 'needs_review' }
  | DeadLettered;

export interface SendOptions {
  readonly deadlineMs: number;
  /** Handling of a call whose attempts have all failed. @default 'throw' */
  readonly givenUp?: OnGivenUp;
}

export interface SendOnceRequest {
  /** Payonce's idempotency key. A look-up at the vendor searches for it. */
  readonly key: string;
  readonly operation: string;
  /** See {@link OutboundCall}. */
  readonly about?: string | undefined;
  /** Unix milliseconds. */
  readonly deadlineMs: number;
  readonly send: (limit: CallLimit) => Promise<SendAnswer>;
  /** Looks up the request at the vendor. Undefined if the vendor has no look-up. */
  readonly lookUp?: {
    readonly find: (limit: CallLimit) => Promise<Found<Sent>>;
    /**
     * Time after the end of a send during which a look-up may not find its effect yet, in milliseconds. The vendor may
     * still be working on a request whose connection was lost.
     */
    readonly maxLagMs: number;
    /**
     * Whether a look-up finds every request as soon as the vendor has accepted it. Such a look-up misses only requests
     * that are still in flight.
     * @default false
     */
    readonly isStrong?: boolean;
  };
  /**
   * Handling of a send that got no response. `by_lookup`: this owner looks up the request before it sends again.
   * `by_key`: the vendor keeps idempotency keys permanently, so this owner and later owners may send again. `never`:
   * this owner does not send again.
   */
  readonly withinCall: 'by_lookup' | 'by_key' | 'never';
  /**
   * Handling of a call whose attempts have all failed.
   * @default 'throw'
   */
  readonly givenUp?: OnGivenUp;
  /** The payload of the dead letter, if the call is dead-lettered. */
  readonly payload: object;
}

export interface SendOnceTools {
  readonly policy: OutboundPolicy;
  readonly claims: SendingClaims;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** A lease exceeds its owner's deadline by this time, because the clocks of workers differ. */
const CLOCK_MARGIN_MS = 5_000;

/** Each clock may be up to five minutes off. */
const CLOCK_SKEW_MS = 10 * 60_000;

/**
 * Sends a request so that it takes effect once, to a vendor that does not recognize repeated requests. For a vendor
 * that recognizes them, the claim shows that an earlier owner may have sent the request: if all later attempts fail,
 * the outcome is unknown.
 *
 *     claim "sending" ──▶ send ──▶ "sent"
 *           │               └ no answer: the claim stays
 *           ▼
 *     takeover: searches the vendor for the key ─▶ found: "sent"
 *                                               ─▶ provably absent: sends again
 *                                               ─▶ no look-up: needs review; by key: sends again
 *
 * @throws RetryableError if nothing was applied, a rival is sending, or absence is not proved yet
 * @throws AmbiguousError if the request may have been applied; a later call determines the outcome
 * @throws TerminalError if a retry cannot help; nothing was applied
 */
export async function sendOnce(tools: SendOnceTools, request: SendOnceRequest): Promise<SendOutcome> {
  const { claims, clock, policy } = tools;
  const leaseMs = Math.max(0, request.deadlineMs - clock.nowMs()) + CLOCK_MARGIN_MS;
  const claim = await claims.begin(request.key, leaseMs);
  if (claim.kind === 'sent') return claim;
  if (claim.kind === 'sending') {
    throw retryLater(policy.vendor, 'sending_elsewhere', claim.leaseExpiresAtMs - clock.nowMs());
  }
  const ours: SendingOwner = { key: request.key, owner: claim.owner };
  const mayBeSent = claim.kind === 'sending_before' && request.withinCall === 'by_key';
  if (mayBeSent && !(await claims.sendAgain(ours)))
    throw retryLater(policy.vendor, 'sending_elsewhere', CLOCK_MARGIN_MS);
  if (claim.kind === 'sending_before' && !mayBeSent) {
    const before = await findBefore(tools, request, ours, claim);
    if (before !== undefined) return before;
  }
  return sendOwned(tools, { ...request, mayBeSent }, ours);
}

/** Undefined if nothing was sent, so that this owner may send. */
async function findBefore(
  { policy, claims, clock }: SendOnceTools,
  { key, operation, deadlineMs, lookUp }: SendOnceRequest,
  ours: SendingOwner,
  before: Extract<SendClaimResult, { kind: 'sending_before' }>,
): Promise<SendOutcome | undefined> {
  if (lookUp === undefined) {
    await claims.release(ours, 'unknown');
    return { kind: 'needs_review' };
  }
  const askedAtMs = clock.nowMs();
  try {
    const found = await policy.read({ operation: `${operation}.look_up`, deadlineMs, send: lookUp.find });
    if (found.kind === 'found') {
      await claims.sent(key, found.answer.vendorId);
      return found.answer;
    }
    const lagLeftMs = absenceProvenAtMs(before, lookUp) - askedAtMs;
    if (lagLeftMs > 0) throw retryLater(policy.vendor, 'too_early_to_tell', lagLeftMs);
  } catch (error) {
    if (!isFault(error)) throw error;
    await claims.release(ours, 'unknown');
    throw afterSend(error);
  }
  if (await claims.sendAgain(ours)) return undefined;
  throw retryLater(policy.vendor, 'sending_elsewhere', CLOCK_MARGIN_MS);
}

/**
 * A fault of this owner's look-up or send proves nothing about an earlier owner's send, so it becomes an
 * AmbiguousError. A fault with a retry time is thrown unchanged, because the next call may determine the outcome.
 */
function afterSend(fault: Fault): Fault {
  const isLater = !(fault instanceof TerminalError) && fault.retryAfterSeconds !== undefined;
  return isLater ? fault : new AmbiguousError(fault.code, fault.message, { cause: fault });
}

/**
 * Returns the earliest time, in Unix milliseconds by this worker's clock, at which a look-up that finds nothing proves
 * that nothing was sent.
 *
 * Example: the sender's clock is five minutes slow, and this worker's clock is five minutes fast. At noon, the sender
 * sends at 11:55 by its clock, and this worker looks up at 12:05 by its own. The difference of ten minutes is only
 * clock skew, and proves nothing.
 *
 * If the earlier owner has recorded the end of its send, clock skew does not matter, and a strong look-up is a proof.
 */
function absenceProvenAtMs(
  { mayHaveSentUntilMs, isOver }: Extract<SendClaimResult, { kind: 'sending_before' }>,
  { maxLagMs, isStrong = false }: Pick<NonNullable<SendOnceRequest['lookUp']>, 'maxLagMs' | 'isStrong'>,
): number {
  return mayHaveSentUntilMs + maxLagMs + (isOver && isStrong ? 0 : CLOCK_SKEW_MS);
}

async function sendOwned(
  { policy, claims }: SendOnceTools,
  request: SendOnceRequest & { readonly mayBeSent: boolean },
  ours: SendingOwner,
): Promise<SendOutcome> {
  const { payload, givenUp = 'throw', mayBeSent } = request;
  const call: OutboundCall<SendAnswer> = {
    operation: request.operation,
    about: request.about,
    deadlineMs: request.deadlineMs,
    send: request.send,
    mayBeSent,
    ...resend(request),
  };
  const outcome = await settle(claims, { ...ours, mayBeSent }, () =>
    givenUp === 'throw' ? policy.call(call) : policy.callOrDeadLetter(call, payload, givenUp),
  );
  const isUnknown = outcome.kind === 'unknown' || (isKept(outcome) && outcome.mayBeApplied);
  if (outcome.kind === 'sent') await claims.sent(ours.key, outcome.vendorId);
  else await claims.release(ours, isUnknown ? 'unknown' : 'nothing_sent');
  if (isUnknown && request.lookUp === undefined && request.withinCall !== 'by_key') return { kind: 'needs_review' };
  if (outcome.kind === 'unknown') throw outcome.fault;
  return outcome;
}

function isKept(outcome: { readonly kind: string }): outcome is DeadLettered {
  return outcome.kind === 'dead_lettered' || outcome.kind === 'delayed';
}

/**
 * Only errors of the vendor's call are caught here, because a fault of the claim store proves nothing about the send.
 */
async function settle<T>(
  claims: SendingClaims,
  ours: SendingOwner & { readonly mayBeSent: boolean },
  make: () => Promise<T>,
): Promise<T | { readonly kind: 'unknown'; readonly fault: AmbiguousError }> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof AmbiguousError) return { kind: 'unknown', fault: error };
    // An error that is not a fault is a bug. Leave the claim, so that the next owner determines the outcome.
    if (!isFault(error)) throw error;
    await claims.release(ours, ours.mayBeSent ? 'unknown' : 'nothing_sent');
    throw ours.mayBeSent ? afterSend(error) : error;
  }
}

function resend({ withinCall, lookUp }: SendOnceRequest): Resend<SendAnswer> {
  if (withinCall === 'by_key') return { idempotent: 'by_key' };
  return withinCall === 'by_lookup' && lookUp !== undefined
    ? { idempotent: 'by_lookup', lookUp: lookUp.find, maxLagMs: lookUp.maxLagMs }
    : { idempotent: 'never' };
}

function retryLater(vendor: string, why: 'sending_elsewhere' | 'too_early_to_tell', afterMs: number): RetryableError {
  return new RetryableError(`${vendor}_${why}`, `The outcome of an earlier request to ${vendor} is not known yet.`, {
    retryAfterSeconds: Math.max(1, Math.ceil(afterMs / 1_000)),
  });
}
