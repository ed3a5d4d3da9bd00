import type { ChargeFact } from '../core/facts.ts';
import { AmbiguousError, RetryableError } from '../core/faults.ts';
import { nextStep } from '../core/settlement.ts';
import type { ChargeOrder, ChargeOutcome, Clock, Entropy, Processor } from './ports.ts';

/** One send gets this long, so that two of them, a look-up and the commit fit into a request. Milliseconds. */
const SEND_TIMEOUT_MS = 8_000;
const LOOKUP_TIMEOUT_MS = 2_000;
/** Kept free at the end of a request for the commit and its bounded retries. Milliseconds. */
const COMMIT_RESERVE_MS = 3_000;
/** A send with less time than this is not worth starting. Milliseconds. */
const SHORTEST_SEND_MS = 1_000;
/** First rung of the retry ladder, with full jitter. Milliseconds. */
const FIRST_WAIT_MS = 500;
/** ask, send, ask, send, ask, conclude: no settlement is longer. */
const MAX_STEPS = 6;

export interface SettlementTools {
  readonly processor: Processor;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export interface ChargeUnderway {
  readonly order: ChargeOrder;
  readonly claimedAtMs: number;
  /** Whether an earlier owner of this claim may have sent. */
  readonly sent: 'nothing' | 'maybe';
  /** When the client must have its answer. */
  readonly answerByMs: number;
}

/**
 * Finds out what becomes of a charge: sends, asks, sends once more with the same key, and says `unknown` when time is
 * up. Never guesses.
 *
 * @throws RetryableError when nothing was sent at all, by anyone: the claim may be released
 */
export async function settleCharge(tools: SettlementTools, underway: ChargeUnderway): Promise<ChargeFact> {
  const { processor, clock } = tools;
  const { order, claimedAtMs, answerByMs } = underway;
  let sent = underway.sent;
  let sends = 0;
  let looked: 'absent' | 'unavailable' | undefined;

  for (let taken = 0; taken < MAX_STEPS; taken += 1) {
    const nowMs = clock.nowMs();
    const leftMs = answerByMs - COMMIT_RESERVE_MS - nowMs;
    const timeLeft = leftMs >= SHORTEST_SEND_MS;
    const step = nextStep({ nowMs, claimedAtMs, abilities: processor.abilities, sent, sends, looked, timeLeft });
    if (step.do === 'conclude') return { kind: step.fact };
    if (step.do === 'ask') {
      const found = await ask(processor, order);
      if (found.kind !== 'absent' && found.kind !== 'unavailable') return found;
      looked = found.kind;
      continue;
    }
    if (sent === 'nothing' && !timeLeft) {
      throw new RetryableError('request_out_of_time', 'no time was left to ask the processor', {
        retryAfterSeconds: 1,
      });
    }
    const heard = await send(tools, order, { timeoutMs: Math.min(SEND_TIMEOUT_MS, leftMs), sent });
    if (heard.kind === 'fact') return heard.fact;
    sent = 'maybe';
    sends += 1;
    looked = undefined;
    await clock.sleep(tools.entropy.fraction() * FIRST_WAIT_MS);
  }
  return { kind: 'unknown' };
}

type Heard = { readonly kind: 'fact'; readonly fact: ChargeFact } | { readonly kind: 'unheard' };

/**
 * A refusal counts only when it answers the first send ever made. After a send whose fate is unknown it may speak of
 * this attempt alone, so the look-up must confirm it.
 */
async function send(
  tools: SettlementTools,
  order: ChargeOrder,
  attempt: { readonly timeoutMs: number; readonly sent: 'nothing' | 'maybe' },
): Promise<Heard> {
  try {
    const outcome = await tools.processor.charge(order, { timeoutMs: attempt.timeoutMs });
    if (!isRefusal(outcome) || attempt.sent === 'nothing') return { kind: 'fact', fact: outcome };
    return { kind: 'unheard' };
  } catch (error) {
    if (error instanceof RetryableError) {
      if (attempt.sent === 'nothing') throw error;
      return { kind: 'unheard' };
    }
    if (error instanceof AmbiguousError) return { kind: 'unheard' };
    throw error;
  }
}

async function ask(
  processor: Processor,
  order: ChargeOrder,
): Promise<ChargeOutcome | { readonly kind: 'absent' } | { readonly kind: 'unavailable' }> {
  try {
    return await processor.findCharge(order, { timeoutMs: LOOKUP_TIMEOUT_MS });
  } catch (error) {
    if (error instanceof RetryableError || error instanceof AmbiguousError) return { kind: 'unavailable' };
    throw error;
  }
}

function isRefusal(outcome: ChargeOutcome): boolean {
  return outcome.kind === 'declined' || outcome.kind === 'rejected';
}
