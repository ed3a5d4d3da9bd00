import { AmbiguousError, RetryableError, TerminalError } from '../kernel/faults.ts';
import type { CallLimit, Clock } from '../kernel/world.ts';
import { type Found, type GivenUp, isFault, type OutboundCall, type Resend, type SetAside } from './outbound-calls.ts';
import type { OutboundPolicy } from './outbound-policy.ts';
import type { SendingClaim, SendingClaims, SendingOwner } from './use/sending-claims.ts';

type Sent = { readonly kind: 'sent'; readonly vendorId: string };

export type SendAnswer =
  | Sent
  /** The vendor understood and refused: nothing was applied, and the same again would be refused too. */
  | { readonly kind: 'refused'; readonly failure: { readonly code: string; readonly message: string } };

/** In order of precedence. */
export type SendOutcome =
  | SendAnswer
  /** Sent, never answered, and cannot be looked up: a person must. It is never sent again. */
  | { readonly kind: 'needs_review' }
  | SetAside;

/** What the caller of an adapter says. */
export interface SendOptions {
  /** Unix milliseconds. */
  readonly deadlineMs: number;
  /** What becomes of what is given up. @default throw */
  readonly givenUp?: GivenUp;
}

export interface Parcel {
  /** Ours, and what the vendor can be asked for. */
  readonly key: string;
  readonly operation: string;
  /** Unix milliseconds. */
  readonly deadlineMs: number;
  readonly send: (limit: CallLimit) => Promise<SendAnswer>;
  /** Undefined where the vendor cannot be asked. */
  readonly lookUp?: {
    readonly find: (limit: CallLimit) => Promise<Found<Sent>>;
    readonly maxLagMs: number;
    /** Finds at once what was taken; the lag is only of what is still under way. @default false */
    readonly isStrong?: boolean;
  };
  /** What follows a send without an answer while its caller still waits. */
  readonly withinCall: 'by_lookup' | 'never';
  /** @default throw */
  readonly givenUp?: GivenUp;
  /** Of the dead letter that it may become. */
  readonly payload: object;
}

export interface SendOnceTools {
  readonly policy: OutboundPolicy;
  readonly claims: SendingClaims;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** A lease outlives its owner's last send by this, because two workers' clocks differ. Milliseconds. */
const CLOCK_MARGIN_MS = 5_000;

/** Two workers' clocks may differ by this much: five minutes either way. Milliseconds. */
const CLOCK_SKEW_MS = 10 * 60_000;

/**
 * Sends to a vendor that does not recognise what it got before, so that it takes effect once.
 *
 *     claim "sending" ──▶ send ──▶ "sent"
 *           │               └ no answer: the claim stays
 *           ▼
 *     the next one takes over: asks the vendor for our reference ─▶ there: "sent"
 *                                                                ─▶ provably not there: sends again
 *                                                                ─▶ cannot be asked: a person
 *
 * @throws RetryableError when nothing was sent, somebody else is sending, or it is too early to tell
 * @throws AmbiguousError when it was sent and nobody knows; who calls again finds out
 * @throws TerminalError when trying again cannot help; nothing was sent
 */
export async function sendOnce(tools: SendOnceTools, parcel: Parcel): Promise<SendOutcome> {
  const { claims, clock, policy } = tools;
  const leaseMs = Math.max(0, parcel.deadlineMs - clock.nowMs()) + CLOCK_MARGIN_MS;
  const claim = await claims.begin(parcel.key, leaseMs);
  if (claim.kind === 'sent') return claim;
  if (claim.kind === 'sending') {
    throw comeBack(policy.vendor, 'sending_elsewhere', claim.leaseExpiresAtMs - clock.nowMs());
  }
  const ours: SendingOwner = { key: parcel.key, owner: claim.owner };
  if (claim.kind === 'sending_before') {
    const before = await findBefore(tools, parcel, ours, claim);
    if (before !== undefined) return before;
  }
  return sendOwned(tools, parcel, ours);
}

/** What became of an earlier owner's send; undefined when there was none, and the way is free. */
async function findBefore(
  { policy, claims, clock }: SendOnceTools,
  { key, operation, deadlineMs, lookUp }: Parcel,
  ours: SendingOwner,
  before: Extract<SendingClaim, { kind: 'sending_before' }>,
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
    if (lagLeftMs > 0) throw comeBack(policy.vendor, 'too_early_to_tell', lagLeftMs);
  } catch (error) {
    if (isFault(error)) await claims.release(ours, 'unknown');
    // That asking is no use says nothing of what was sent.
    throw error instanceof TerminalError ? new AmbiguousError(error.code, error.message, { cause: error }) : error;
  }
  if (await claims.sendAgain(ours)) return undefined;
  throw comeBack(policy.vendor, 'sending_elsewhere', CLOCK_MARGIN_MS);
}

/**
 * From when on, by our clock, what a look-up does not find was not sent.
 *
 *   worker at −5 min   send, 11:55 ── no answer
 *   worker at +5 min            └─ looks, 12:05: the ten minutes between them are no proof
 *
 * A send that its owner has said to be over is over whatever the clocks say: a vendor that then finds at once is believed.
 */
function absenceProvenAtMs(
  { mayHaveSentUntilMs, isOver }: Extract<SendingClaim, { kind: 'sending_before' }>,
  { maxLagMs, isStrong = false }: Pick<NonNullable<Parcel['lookUp']>, 'maxLagMs' | 'isStrong'>,
): number {
  return mayHaveSentUntilMs + maxLagMs + (isOver && isStrong ? 0 : CLOCK_SKEW_MS);
}

async function sendOwned({ policy, claims }: SendOnceTools, parcel: Parcel, ours: SendingOwner): Promise<SendOutcome> {
  const { payload, givenUp = 'throw' } = parcel;
  const call: OutboundCall<SendAnswer> = {
    operation: parcel.operation,
    deadlineMs: parcel.deadlineMs,
    send: parcel.send,
    ...resend(parcel),
  };
  const outcome = await settle(claims, ours, () =>
    givenUp === 'throw' ? policy.call(call) : policy.callOrSetAside(call, payload, givenUp),
  );
  const isUnknown = outcome.kind === 'unknown' || (outcome.kind === 'set_aside' && outcome.mayBeApplied);
  if (outcome.kind === 'sent') await claims.sent(ours.key, outcome.vendorId);
  else await claims.release(ours, isUnknown ? 'unknown' : 'nothing_sent');
  if (isUnknown && parcel.lookUp === undefined) return { kind: 'needs_review' };
  if (outcome.kind === 'unknown') throw outcome.fault;
  return outcome;
}

/** Only what the vendor's call throws says what became of it; a fault of the claims' own store does not. */
async function settle<T>(
  claims: SendingClaims,
  ours: SendingOwner,
  make: () => Promise<T>,
): Promise<T | { readonly kind: 'unknown'; readonly fault: AmbiguousError }> {
  try {
    return await make();
  } catch (error) {
    if (error instanceof AmbiguousError) return { kind: 'unknown', fault: error };
    // Anything but a fault is a death of ours: the claim stays as it is, and whoever takes over finds out.
    if (isFault(error)) await claims.release(ours, 'nothing_sent');
    throw error;
  }
}

function resend({ withinCall, lookUp }: Parcel): Resend<SendAnswer> {
  return withinCall === 'by_lookup' && lookUp !== undefined
    ? { idempotent: 'by_lookup', lookUp: lookUp.find, maxLagMs: lookUp.maxLagMs }
    : { idempotent: 'never' };
}

function comeBack(vendor: string, why: 'sending_elsewhere' | 'too_early_to_tell', afterMs: number): RetryableError {
  return new RetryableError(`${vendor}_${why}`, `What became of an earlier send to the ${vendor} is not known yet.`, {
    retryAfterSeconds: Math.max(1, Math.ceil(afterMs / 1_000)),
  });
}
