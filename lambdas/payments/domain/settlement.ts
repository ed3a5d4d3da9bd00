/**
 * How an operation finds out what became of its charge. A stale lease or a lost answer never means "run again": it means
 * "find out". Pure: what to do next follows from what was done and what the processor is able to tell.
 */

/** What a processor can tell about a charge by our own key. */
export type Lookup =
  /** What was accepted is found at once; not found means that it is not there. */
  | { readonly kind: 'strong' }
  /** What was accepted is found after `maxLagMs` at the latest. */
  | { readonly kind: 'eventual'; readonly maxLagMs: number }
  | { readonly kind: 'none' };

export interface ProcessorAbilities {
  readonly lookup: Lookup;
  /** How long the processor answers a repeated key with the first result; 0 when it knows no keys. Milliseconds. */
  readonly keyRetentionMs: number;
}

/** Nobody sends later than this after the claim: nobody is charged next morning for a checkout that they left. Milliseconds. */
export const SEND_WINDOW_MS = 15 * 60_000;

/** Absence proves "never attempted" only this long after the last moment at which anyone may have sent. Wider than two clocks may differ. Milliseconds. */
const ABSENCE_PROOF_MS = 30 * 60_000;

/** After this long a processor that can be asked at once has told how it ended: what is open then may never be found out. Milliseconds. */
export const FIND_OUT_MS = SEND_WINDOW_MS + ABSENCE_PROOF_MS;

/** Within one request: the send and one more. */
const MAX_SENDS = 2;

/** Two workers' clocks may differ by this much in either direction; limits that rest on clocks keep this distance. Milliseconds. */
const CLOCK_MARGIN_MS = 10 * 60_000;

export interface SettlementState {
  readonly nowMs: number;
  readonly claimedAtMs: number;
  readonly abilities: ProcessorAbilities;
  /** Whether anything may have reached the processor, from any owner of this claim. */
  readonly sent: 'nothing' | 'maybe';
  /** How often this owner has sent. */
  readonly sends: number;
  /** What the look-up since the last send said; undefined when none was made. */
  readonly looked: 'absent' | 'unavailable' | undefined;
  /** Whether there is time for one more send before the client must be answered. */
  readonly timeLeft: boolean;
}

export type SettlementStep =
  | { readonly do: 'send' }
  | { readonly do: 'ask' }
  | { readonly do: 'conclude'; readonly fact: 'unknown' | 'not_attempted' | 'undecidable' };

const conclude = (fact: 'unknown' | 'not_attempted' | 'undecidable'): SettlementStep => ({ do: 'conclude', fact });

/** Whether nobody may send any more. */
export function isSendWindowClosed({ nowMs, claimedAtMs }: Pick<SettlementState, 'nowMs' | 'claimedAtMs'>): boolean {
  return nowMs > claimedAtMs + SEND_WINDOW_MS;
}

export function nextStep(state: SettlementState): SettlementStep {
  const windowClosed = isSendWindowClosed(state);
  if (state.sent === 'nothing') return windowClosed ? conclude('not_attempted') : { do: 'send' };
  if (state.abilities.lookup.kind !== 'none' && state.looked === undefined) return { do: 'ask' };
  if (windowClosed) return concludeAfterWindow(state);
  return mayAskBySending(state) ? { do: 'send' } : conclude('unknown');
}

/** Within the key's retention, sending again with the same key is the question. */
function mayAskBySending(state: SettlementState): boolean {
  const keyHonoured = state.nowMs < state.claimedAtMs + state.abilities.keyRetentionMs - CLOCK_MARGIN_MS;
  return keyHonoured && state.sends < MAX_SENDS && state.timeLeft;
}

function concludeAfterWindow(state: SettlementState): SettlementStep {
  const { lookup } = state.abilities;
  if (lookup.kind === 'none') return conclude('undecidable');
  if (state.looked !== 'absent') return conclude('unknown');
  const lagMs = lookup.kind === 'eventual' ? lookup.maxLagMs : 0;
  const proven = state.nowMs >= state.claimedAtMs + SEND_WINDOW_MS + ABSENCE_PROOF_MS + lagMs;
  return proven ? conclude('not_attempted') : conclude('unknown');
}
