/**
 * Determines the outcome of a charge. After a stale lease or a lost response, the operation is never repeated blindly;
 * its outcome is determined first. The functions are pure: they compute the next step from the previous steps and from
 * the processor's abilities.
 */

import { SEND_WINDOW_SECONDS } from '../../kernel/contract/timing.ts';

/** Whether and how fast a processor finds a charge by Payonce's own key. */
export type Lookup =
  /** An accepted charge is found immediately, so "not found" means "absent". */
  | { readonly kind: 'strong' }
  /** An accepted charge is found after at most `maxLagMs` milliseconds. */
  | { readonly kind: 'eventual'; readonly maxLagMs: number }
  | { readonly kind: 'none' };

export interface ProcessorAbilities {
  readonly lookup: Lookup;
  /**
   * Time for which a processor returns the first result when an idempotency key is used again, in milliseconds; 0 if
   * the processor has no idempotency keys.
   */
  readonly keyRetentionMs: number;
  /**
   * Whether a table with claims was lost. The owner of a lost claim may have sent a request with a key that the
   * processor no longer remembers. If true, nothing is sent before a look-up has found no charge, so the processor must
   * have a look-up.
   * @default false
   */
  readonly claimsLost?: boolean | undefined;
}

/** Time after a claim within which its owners may send the request to the processor, in milliseconds. */
export const SEND_WINDOW_MS = SEND_WINDOW_SECONDS * 1000;

/**
 * Wait after the end of the send window, in milliseconds, before an absent charge proves "not attempted". Longer than
 * any clock skew.
 */
const ABSENCE_PROOF_MS = 30 * 60_000;

/**
 * Time after the claim, in milliseconds, within which the outcome is known if the processor has a strong look-up. After
 * this time, an operator may decide.
 */
export const OUTCOME_KNOWN_WITHIN_MS = SEND_WINDOW_MS + ABSENCE_PROOF_MS;

/** Maximum number of sends within one request. */
const MAX_SENDS = 2;

/** Largest clock skew between two workers in either direction, in milliseconds. */
const CLOCK_MARGIN_MS = 10 * 60_000;

export interface SettlementState {
  readonly nowMs: number;
  readonly claimedAtMs: number;
  readonly abilities: ProcessorAbilities;
  /** Whether any owner of this claim may have sent a request that reached the processor. */
  readonly sent: 'nothing' | 'maybe';
  /** The number of sends by this owner. */
  readonly sends: number;
  /** The result of the latest look-up since the last send; undefined if there was none. */
  readonly lookedUp: 'absent' | 'unavailable' | undefined;
  /** Whether the remaining time allows one more send before the client must receive its response. */
  readonly timeLeft: boolean;
  /**
   * Whether the chain and the processor's books still allow the operation. If false, nothing more is sent, as if the
   * send window had closed.
   * @default true
   */
  readonly allowed?: boolean;
}

export type SettlementStep =
  | { readonly do: 'send' }
  | { readonly do: 'ask' }
  | { readonly do: 'conclude'; readonly fact: 'unknown' | 'not_attempted' | 'undecidable' };

const conclude = (fact: 'unknown' | 'not_attempted' | 'undecidable'): SettlementStep => ({ do: 'conclude', fact });

/** After the window has closed, owners no longer send. */
export function isSendWindowClosed({ nowMs, claimedAtMs }: Pick<SettlementState, 'nowMs' | 'claimedAtMs'>): boolean {
  return nowMs > claimedAtMs + SEND_WINDOW_MS;
}

export function nextStep(state: SettlementState): SettlementStep {
  const windowClosed = state.allowed === false || isSendWindowClosed(state);
  if (state.sent === 'nothing' && !state.abilities.claimsLost)
    return windowClosed ? conclude('not_attempted') : { do: 'send' };
  if (state.abilities.lookup.kind !== 'none' && state.lookedUp === undefined) return { do: 'ask' };
  if (windowClosed) return concludeAfterWindow(state);
  return canInquireBySending(state) ? { do: 'send' } : conclude('unknown');
}

/** While the processor retains the key, sending again with the same key is safe and returns the first result. */
function canInquireBySending(state: SettlementState): boolean {
  const keyHonoured = state.nowMs < state.claimedAtMs + state.abilities.keyRetentionMs - CLOCK_MARGIN_MS;
  if (state.abilities.claimsLost && state.lookedUp !== 'absent') return false;
  // This is the first send, and a strong look-up has proved that no owner of a lost claim has sent a request.
  // Therefore, the retention of the key does not matter.
  if (state.sent === 'nothing' && state.abilities.lookup.kind === 'strong') return true;
  return keyHonoured && state.sends < MAX_SENDS && state.timeLeft;
}

function concludeAfterWindow(state: SettlementState): SettlementStep {
  const { lookup } = state.abilities;
  if (lookup.kind === 'none') return conclude('undecidable');
  if (state.lookedUp !== 'absent') return conclude('unknown');
  const lagMs = lookup.kind === 'eventual' ? lookup.maxLagMs : 0;
  const proven = state.nowMs >= state.claimedAtMs + SEND_WINDOW_MS + ABSENCE_PROOF_MS + lagMs;
  return proven ? conclude('not_attempted') : conclude('unknown');
}
