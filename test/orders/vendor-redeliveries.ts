import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { SendOutcome } from '../../lambdas/outbound/send-once.ts';
import type { SendingClaims } from '../../lambdas/outbound/use/sending-claims.ts';
import type { SimulatedClock } from '../support/simulated-clock.ts';
import type { Trouble } from './postmark-double.ts';

/** The maximum lag of a vendor's search, in milliseconds. */
export const MAX_LAG_MS = 60_000;
/** The largest clock skew between two workers, in milliseconds. */
export const CLOCK_SKEW_MS = 10 * 60_000;
export const PATIENCE_MS = 20_000;

/** Returns a timeout in real milliseconds, which is short if no response will arrive. */
export const timeoutFor = (trouble?: Trouble) =>
  typeof trouble === 'string' && trouble.startsWith('silent') ? 300 : 10_000;

/** Faults that leave it unknown whether the request was applied. */
export const AMBIGUOUS_FAULTS: readonly Trouble[] = [
  'silent_before',
  'silent_after',
  'reset_before',
  'reset_after',
  'error_before',
  'error_after',
  'malformed_after',
];

export class ProcessCrash extends Error {}

/** Repeats the call as a queue redelivers a message. */
export async function retryUntilKnown(clock: SimulatedClock, send: () => Promise<SendOutcome>): Promise<SendOutcome> {
  for (let delivery = 1; delivery <= 10; delivery += 1) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof RetryableError || error instanceof AmbiguousError)) throw error;
      clock.advance((error.retryAfterSeconds ?? 60) * 1_000);
    }
  }
  throw new Error('the outcome is unknown after ten deliveries');
}

/** @returns the distinct outcomes, as JSON */
export async function outcomesOfConcurrentSends(
  clock: SimulatedClock,
  send: () => Promise<SendOutcome>,
): Promise<readonly string[]> {
  const outcomes = new Set<string>();
  for (let round = 1; round <= 4; round += 1) {
    const settled = await Promise.allSettled(Array.from({ length: 20 }, send));
    for (const one of settled) if (one.status === 'fulfilled') outcomes.add(JSON.stringify(one.value));
    clock.advance(CLOCK_SKEW_MS + 3 * MAX_LAG_MS);
  }
  return [...outcomes];
}

export function crashAfterClaim(claims: SendingClaims): SendingClaims {
  return {
    ...bound(claims),
    begin: async (key, leaseMs) => {
      await claims.begin(key, leaseMs);
      throw new ProcessCrash();
    },
  };
}

/** Each crash is after the send and before the process records the send. @param error error that the caller receives */
export function crashBeforeSendIsRecorded(
  claims: SendingClaims,
  times = Infinity,
  error: Error = new ProcessCrash(),
): SendingClaims {
  let left = times;
  return {
    ...bound(claims),
    sent: async (key, vendorId) => {
      if (left-- > 0) throw error;
      await claims.sent(key, vendorId);
    },
  };
}

function bound(claims: SendingClaims): SendingClaims {
  return {
    begin: (key, leaseMs) => claims.begin(key, leaseMs),
    sendAgain: (claim) => claims.sendAgain(claim),
    sent: (key, vendorId) => claims.sent(key, vendorId),
    release: (claim, what) => claims.release(claim, what),
  };
}
