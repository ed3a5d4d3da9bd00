import { fullJitter } from '../kernel/backoff.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../kernel/faults.ts';
import type { CallLimit, Clock, Entropy } from '../kernel/world.ts';
import { type CircuitBreaker, isCircuitOpen } from './circuit-breaker.ts';
import type { Fault, OutboundCall, OutboundObserver } from './outbound-calls.ts';
import type { RetryBudget } from './retry-budget.ts';

export const VENDOR_WAITS = {
  /** The actual waits have full jitter. */
  inProcessMs: [500, 2_000, 5_000],
  /** A queued message is delayed by this time, so that no process has to wait. */
  delayedSeconds: 30,
} as const;

/** With less time, the call would probably time out, and its outcome would be unknown. */
const SHORTEST_CALL_MS = 250;

export interface RetryTools {
  readonly vendor: string;
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, 'fraction'>;
  readonly observer: OutboundObserver;
  readonly breaker: CircuitBreaker;
  readonly budget: RetryBudget;
  readonly timeoutMs: number;
  readonly probeTimeoutMs: number;
  /** The actual waits have full jitter. */
  readonly waitsMs: readonly number[];
}

export type CallResult<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  | { readonly kind: 'gave_up'; readonly fault: Fault; readonly attempts: number };

interface Progress {
  /** The number of the current step, from 0. A step is a wait, followed by a look-up, a send, or both. */
  step: number;
  sent: number;
  /** The number of sends and look-ups. */
  reached: number;
  /**
   * The latest send whose outcome is still unknown (it got no response, or one that does not show the outcome): its
   * fault, and the time at which it ended.
   */
  unanswered?: { readonly fault: AmbiguousError; readonly atMs: number };
  /** Until a step fails, a fault that says that no time was left for the call. */
  fault: Fault;
  /** Minimum wait until the next step begins. */
  waitAtLeastMs: number;
}

/** After `send`, the call is sent; after `next`, the next step begins. */
type StepResult<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  | { readonly kind: 'send' }
  | { readonly kind: 'next' }
  | { readonly kind: 'give_up' };

export async function callWithRetries<T>(
  tools: RetryTools,
  call: OutboundCall<T>,
  effect: 'read' | 'write',
): Promise<CallResult<T>> {
  const { vendor, clock, entropy, observer } = tools;
  const progress: Progress = { step: 0, sent: 0, reached: 0, fault: noTime(vendor), waitAtLeastMs: 0 };
  for (const longestMs of [0, ...tools.waitsMs]) {
    const waitMs = Math.max(fullJitter(longestMs, entropy), progress.waitAtLeastMs);
    if (clock.nowMs() + waitMs + SHORTEST_CALL_MS > call.deadlineMs) break;
    if (waitMs > 0) await clock.sleep(waitMs);
    progress.waitAtLeastMs = 0;
    const looked = await lookUpBeforeResend(tools, call, progress);
    const result = looked.kind === 'send' ? await send(tools, call, progress, effect) : looked;
    if (result.kind === 'answered') return result;
    if (result.kind === 'give_up') break;
    progress.step += 1;
  }
  observer.count(vendor, 'outbound_gave_up');
  // Report the send whose outcome is unknown instead of a later fault, because that send may have been applied.
  return { kind: 'gave_up', fault: progress.unanswered?.fault ?? progress.fault, attempts: progress.sent };
}

/**
 * Returns `send` only if there is no send whose outcome is unknown, if that send was provably not applied, or if
 * repeating the call is harmless.
 */
async function lookUpBeforeResend<T>(
  tools: RetryTools,
  call: OutboundCall<T>,
  progress: Progress,
): Promise<StepResult<T>> {
  if (call.idempotent !== 'by_lookup' || progress.unanswered === undefined) return { kind: 'send' };
  const { atMs } = progress.unanswered;
  const askedAtMs = tools.clock.nowMs();
  try {
    const found = await reach(tools, call, progress, 'read', call.lookUp);
    if (found === undefined) return { kind: 'next' };
    if (found.kind === 'found') return { kind: 'answered', answer: found.answer };
  } catch (error) {
    // After a failed look-up, the outcome of the earlier send is still unknown.
    return learn(tools, progress, error);
  }
  const lagLeftMs = atMs + call.maxLagMs - askedAtMs;
  if (lagLeftMs > 0) {
    progress.waitAtLeastMs = lagLeftMs;
    return { kind: 'next' };
  }
  delete progress.unanswered;
  return { kind: 'send' };
}

async function send<T>(
  tools: RetryTools,
  call: OutboundCall<T>,
  progress: Progress,
  effect: 'read' | 'write',
): Promise<StepResult<T>> {
  try {
    const sent = await reach(tools, call, progress, effect, async (limit) => {
      progress.sent += 1;
      return { answer: await call.send(limit) };
    });
    return sent === undefined ? { kind: 'next' } : { kind: 'answered', answer: sent.answer };
  } catch (error) {
    const next = learn(tools, progress, error);
    if (!(error instanceof AmbiguousError) || effect === 'read') return next;
    progress.unanswered = { fault: error, atMs: tools.clock.nowMs() };
    return call.idempotent === 'never' ? { kind: 'give_up' } : next;
  }
}

/**
 * Every call after the first step uses the budget, even if the first step sent nothing. Otherwise, all calls that
 * waited for an open breaker would be sent at the moment when it closes.
 */
async function reach<R>(
  { vendor, clock, breaker, budget, observer, timeoutMs, probeTimeoutMs }: RetryTools,
  { deadlineMs }: { readonly deadlineMs: number },
  progress: Progress,
  effect: 'read' | 'write',
  make: (limit: CallLimit) => Promise<R>,
): Promise<R | undefined> {
  if (!breaker.isClosed()) {
    // Do not wait for a probe that may end after the deadline.
    if (deadlineMs - clock.nowMs() < probeTimeoutMs + SHORTEST_CALL_MS) throw breaker.refusal();
    await breaker.ready();
  }
  const leftMs = deadlineMs - clock.nowMs();
  if (leftMs < SHORTEST_CALL_MS) return undefined;
  if (progress.step + progress.reached > 0 && !budget.take()) return undefined;
  return breaker[effect](() => {
    if (progress.reached === 0) budget.earn();
    observer.count(vendor, progress.reached === 0 ? 'outbound_call' : 'outbound_retry');
    progress.reached += 1;
    return make({ timeoutMs: Math.min(timeoutMs, leftMs) });
  });
}

/** @throws every error that is not a `Fault` */
function learn({ vendor }: RetryTools, progress: Progress, error: unknown): StepResult<never> {
  if (error instanceof TerminalError) {
    progress.fault = error;
    return { kind: 'give_up' };
  }
  if (!(error instanceof RetryableError || error instanceof AmbiguousError)) throw error;
  progress.fault = error;
  // Ignore the retry time of a breaker's refusal: it is the length of the whole pause, and the pause began before this
  // call.
  if (!isCircuitOpen(error, vendor)) progress.waitAtLeastMs = (error.retryAfterSeconds ?? 0) * 1_000;
  return { kind: 'next' };
}

function noTime(vendor: string): RetryableError {
  return new RetryableError(`${vendor}_no_time`, `There was no time left to call the ${vendor}.`);
}
