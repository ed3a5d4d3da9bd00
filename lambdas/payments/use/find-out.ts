import { COMMIT_SECONDS } from '../../kernel/contract/timing.ts';
import { AmbiguousError, RetryableError } from '../../kernel/faults.ts';
import type { CallLimit, Clock, Entropy } from '../../kernel/world.ts';
import type { NotedCall } from '../../once/domain/idempotency.ts';
import type { ChargeFact } from '../domain/facts.ts';
import { nextStep, type ProcessorAbilities, type SettlementStep } from '../domain/settlement.ts';
import {
  type ChargeOrder,
  type ChargeOutcome,
  LOOKUP_TIMEOUT_MS,
  type Processor,
  SEND_TIMEOUT_MS,
} from './processor.ts';

/** Minimum remaining time for starting a send, in milliseconds. */
const SHORTEST_SEND_MS = 1_000;
/** Maximum wait after each send without a conclusive response, with full jitter, in milliseconds. */
const FIRST_WAIT_MS = 500;
/** Maximum number of steps. The longest sequence is: look up, send, look up, send, look up, return the outcome. */
const MAX_STEPS = 6;

export interface FindOutTools {
  readonly abilities: ProcessorAbilities;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export interface SettlementContext {
  readonly claimedAtMs: number;
  /** `maybe` if an earlier owner of this claim may have sent a request. */
  readonly sent: 'nothing' | 'maybe';
  readonly answerByMs: number;
  /** Called after each processor request, with its result. */
  readonly note?: (call: NotedCall) => void;
}

export interface ProcessorOperation<Answer> {
  /**
   * Reports whether the chain and the processor's books still allow the operation. Called right before each send. If
   * false, the operation is looked up but not sent.
   *
   * @default always allowed
   * @throws RetryableError or AmbiguousError when the chain or the books cannot be read; nothing is sent
   */
  mayBeSent?(): Promise<boolean>;
  send(limit: CallLimit): Promise<Answer>;
  lookUp(limit: CallLimit): Promise<Answer | { readonly kind: 'absent' }>;
  /** A refusal may be about the latest attempt only. */
  isRefusal(answer: Answer): boolean;
}

export type Found<Answer> =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'unknown' | 'not_attempted' | 'undecidable' };

/**
 * Determines the outcome of an operation: sends the operation and, if it gets no response, looks it up, or sends it a
 * second time with the same idempotency key. If the time runs out first, the outcome is `unknown`; it is never guessed.
 *
 * @throws RetryableError when the operation cannot be sent now and no owner of the claim has sent it, so that the claim
 * may be released
 */
export async function findOut<Answer>(
  tools: FindOutTools,
  { claimedAtMs, sent: sentBefore, answerByMs, note }: SettlementContext,
  asked: ProcessorOperation<Answer>,
): Promise<Found<Answer>> {
  const { clock, abilities } = tools;
  const question = note === undefined ? asked : notedQuestion(asked, clock, note);
  let sent = sentBefore;
  let sends = 0;
  let allowed = true;
  let lookedUp: 'absent' | 'unavailable' | undefined;
  const timeLeftMs = (): number => answerByMs - COMMIT_SECONDS * 1000 - clock.nowMs();

  for (let taken = 0; taken < MAX_STEPS; taken += 1) {
    const next = (): SettlementStep => {
      const nowMs = clock.nowMs();
      const timeLeft = timeLeftMs() >= SHORTEST_SEND_MS;
      return nextStep({ nowMs, claimedAtMs, abilities, sent, sends, lookedUp, timeLeft, allowed });
    };
    let step = next();
    if (step.do === 'send') {
      const may = await mayBeSent(question, sent);
      if (may === 'unknown') return { kind: 'unknown' };
      allowed = may;
      // `mayBeSent` may have used up the remaining time.
      step = next();
    }
    if (step.do === 'conclude') return { kind: step.fact };
    if (step.do === 'ask') {
      const seen = await lookUp(question);
      if (seen.kind === 'answer') return seen;
      lookedUp = seen.kind;
      continue;
    }
    const leftMs = timeLeftMs();
    if (sent === 'nothing' && leftMs < SHORTEST_SEND_MS) {
      throw new RetryableError('request_out_of_time', 'the time budget ended before the processor was called', {
        retryAfterSeconds: 1,
      });
    }
    const result = await send(question, Math.min(SEND_TIMEOUT_MS, leftMs), sent);
    if (result.kind === 'answer') return result;
    sent = 'maybe';
    sends += 1;
    lookedUp = undefined;
    await clock.sleep(tools.entropy.fraction() * FIRST_WAIT_MS);
  }
  return { kind: 'unknown' };
}

function notedQuestion<Answer>(
  question: ProcessorOperation<Answer>,
  clock: Clock,
  note: NonNullable<SettlementContext['note']>,
): ProcessorOperation<Answer> {
  const noted = async <Seen>(call: NotedCall['do'], ask: () => Promise<Seen>): Promise<Seen> => {
    const atMs = clock.nowMs();
    const took = (result: string) => note({ do: call, result, atMs, tookMs: clock.nowMs() - atMs });
    try {
      const seen = await ask();
      took(kindOf(seen));
      return seen;
    } catch (error) {
      if (call === 'look') took('unavailable');
      else took(error instanceof RetryableError ? 'not_sent' : 'no_response');
      throw error;
    }
  };
  return {
    ...question,
    send: (limit) => noted('send', () => question.send(limit)),
    lookUp: (limit) => noted('look', () => question.lookUp(limit)),
  };
}

function kindOf(seen: unknown): string {
  return typeof seen === 'object' && seen !== null && 'kind' in seen ? String(seen.kind) : 'answered';
}

async function mayBeSent<Answer>(
  question: ProcessorOperation<Answer>,
  sent: 'nothing' | 'maybe',
): Promise<boolean | 'unknown'> {
  try {
    return question.mayBeSent === undefined || (await question.mayBeSent());
  } catch (error) {
    if (!(error instanceof RetryableError) && !(error instanceof AmbiguousError)) throw error;
    if (sent === 'maybe') return 'unknown';
    if (error instanceof RetryableError) throw error;
    // Only the check before the send failed, so nothing was sent.
    throw new RetryableError(error.code, error.message, { cause: error });
  }
}

/**
 * A refusal of the first send is final. If the outcome of an earlier send is unknown, the refusal may be about the
 * later attempt only, so a look-up must confirm it.
 */
async function send<Answer>(
  question: ProcessorOperation<Answer>,
  timeoutMs: number,
  sent: 'nothing' | 'maybe',
): Promise<{ readonly kind: 'answer'; readonly answer: Answer } | { readonly kind: 'no_response' }> {
  try {
    const answer = await question.send({ timeoutMs });
    return sent === 'nothing' || !question.isRefusal(answer) ? { kind: 'answer', answer } : { kind: 'no_response' };
  } catch (error) {
    if (error instanceof RetryableError) {
      if (sent === 'nothing') throw error;
      return { kind: 'no_response' };
    }
    if (error instanceof AmbiguousError) return { kind: 'no_response' };
    throw error;
  }
}

async function lookUp<Answer>(
  question: ProcessorOperation<Answer>,
): Promise<{ readonly kind: 'answer'; readonly answer: Answer } | { readonly kind: 'absent' | 'unavailable' }> {
  try {
    const seen = await question.lookUp({ timeoutMs: LOOKUP_TIMEOUT_MS });
    return isAbsent(seen) ? { kind: 'absent' } : { kind: 'answer', answer: seen };
  } catch (error) {
    if (error instanceof RetryableError || error instanceof AmbiguousError) return { kind: 'unavailable' };
    throw error;
  }
}

function isAbsent(seen: unknown): seen is { readonly kind: 'absent' } {
  return kindOf(seen) === 'absent';
}

// ------------------------------------------------------------------------------------------------------------- a charge

export interface SettlementTools {
  readonly processor: Processor;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export interface ChargeUnderway extends SettlementContext {
  readonly order: ChargeOrder;
}

/** @throws RetryableError as {@link findOut} */
export async function settleCharge(
  { processor, clock, entropy }: SettlementTools,
  { order, ...underway }: ChargeUnderway,
): Promise<ChargeFact> {
  const found = await findOut<ChargeOutcome>({ abilities: processor.abilities, clock, entropy }, underway, {
    send: (limit) => processor.charge(order, limit),
    lookUp: (limit) => processor.findCharge(order, limit),
    isRefusal: ({ kind }) => kind === 'declined' || kind === 'rejected',
  });
  return found.kind === 'answer' ? found.answer : { kind: found.kind };
}
