/**
 * Determines the outcome of a charge. After a stale lease or a lost answer, the operation is never repeated blindly;
 * its outcome is determined. The functions are pure: the next step follows from the previous steps and from the
 * processor's abilities.
 */

import { SEND_WINDOW_SECONDS } from '../../kernel/contract/timing.ts';

/** A processor's ability to find a charge by Payonce's own key. */
export type Lookup =
  /** An accepted charge is found at once. Not found means absent. */
  | { readonly kind: 'strong' }
  /** An accepted charge is found after at most `maxLagMs`. Milliseconds. */
  | { readonly kind: 'eventual'; readonly maxLagMs: number }
  | { readonly kind: 'none' };

export interface ProcessorAbilities {
  readonly lookup: Lookup;
  /**
   * Time for which the processor answers a repeated key with the first result; 0 without idempotency keys.
   * Milliseconds.
   */
  readonly keyRetentionMs: number;
  /**
   * Claims were lost with a table, so a first claim may follow a lost one that has sent, whose key the processor may no
   * longer remember. Nothing is sent before a look-up that finds no charge, so the processor must have a look-up.
   * @default false
   */
  readonly claimsLost?: boolean | undefined;
}

/** Milliseconds. */
export const SEND_WINDOW_MS = SEND_WINDOW_SECONDS * 1000;

/** Absence proves "not attempted" only this long after the send window; longer than any clock skew. Milliseconds. */
const ABSENCE_PROOF_MS = 30 * 60_000;

/**
 * Time after the claim by which a processor with a strong look-up has reported an outcome. An operator may decide after
 * it. Milliseconds.
 */
export const OUTCOME_KNOWN_WITHIN_MS = SEND_WINDOW_MS + ABSENCE_PROOF_MS;

/** Maximum number of sends within one request. */
const MAX_SENDS = 2;

/** The largest clock skew between two workers, in either direction. Milliseconds. */
const CLOCK_MARGIN_MS = 10 * 60_000;

export interface SettlementState {
  readonly nowMs: number;
  readonly claimedAtMs: number;
  readonly abilities: ProcessorAbilities;
  /** Whether a request of any owner of this claim may have reached the processor. */
  readonly sent: 'nothing' | 'maybe';
  /** The number of sends of this owner. */
  readonly sends: number;
  /** The result of the look-up since the last send; undefined when there was none. */
  readonly lookedUp: 'absent' | 'unavailable' | undefined;
  /** Whether there is time for one more send before the client must be answered. */
  readonly timeLeft: boolean;
  /**
   * Whether the chain still allows the operation. If not, nothing more is sent, as after the send window. @default true
   */
  readonly allowed?: boolean;
}

export type SettlementStep =
  | { readonly do: 'send' }
  | { readonly do: 'ask' }
  | { readonly do: 'conclude'; readonly fact: 'unknown' | 'not_attempted' | 'undecidable' };

const conclude = (fact: 'unknown' | 'not_attempted' | 'undecidable'): SettlementStep => ({ do: 'conclude', fact });

/** Whether the send window has closed, so that no owner may send. */
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

/** Within the retention of the key, sending again with the same key is safe and returns the first result. */
function canInquireBySending(state: SettlementState): boolean {
  const keyHonoured = state.nowMs < state.claimedAtMs + state.abilities.keyRetentionMs - CLOCK_MARGIN_MS;
  if (state.abilities.claimsLost && state.lookedUp !== 'absent') return false;
  // The first send, after a look-up that proves that no lost claim has sent. It does not need the key.
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
