import { AmbiguousError, RetryableError, TerminalError } from '../kernel/faults.ts';
import type { CallLimit, Clock, Entropy } from '../kernel/world.ts';
import { type CallGuard, isCircuitOpen } from './circuit-breaker.ts';
import type { Fault, OutboundCall, OutboundObserver } from './outbound-calls.ts';
import type { RetryBudget } from './retry-budget.ts';

/** The waits between the attempts, each shortened by full jitter. Cockatiel's own retry sleeps by the wall clock, so it is not used. */
const LADDER_MS = [500, 2_000, 5_000, 30_000] as const;

/** What has less time than this is likely to be cut off, which makes an unknown of a call that was never needed. */
const SHORTEST_CALL_MS = 250;

export interface LadderTools {
  readonly vendor: string;
  readonly clock: Clock;
  readonly entropy: Pick<Entropy, 'fraction'>;
  readonly observer: OutboundObserver;
  readonly guard: CallGuard;
  readonly budget: RetryBudget;
  readonly timeoutMs: number;
  readonly probeTimeoutMs: number;
}

export type LadderEnd<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  | { readonly kind: 'gave_up'; readonly fault: Fault; readonly attempts: number };

/** What is known of one call while it climbs. */
interface Progress {
  /** From 0. */
  rung: number;
  /** How often it was sent. */
  sent: number;
  /** Sends and look-ups. */
  reached: number;
  /** A send without an answer that nothing has explained since, and when it ended. */
  unanswered?: { readonly fault: AmbiguousError; readonly atMs: number };
  /** What the last rung came to. */
  fault: Fault;
  /** The next rung comes no earlier. Milliseconds from now. */
  waitAtLeastMs: number;
}

/** What one rung came to; `climb` when the next one may know more. */
type Rung<T> =
  | { readonly kind: 'answered'; readonly answer: T }
  | { readonly kind: 'send' }
  | { readonly kind: 'climb' }
  | { readonly kind: 'give_up' };

/** One call, up to five rungs: never past the deadline, never past the retry budget, never through an open breaker. */
export async function climb<T>(
  tools: LadderTools,
  call: OutboundCall<T>,
  effect: 'read' | 'write',
): Promise<LadderEnd<T>> {
  const { vendor, clock, entropy, observer } = tools;
  const progress: Progress = { rung: 0, sent: 0, reached: 0, fault: noTime(vendor), waitAtLeastMs: 0 };
  for (const rungMs of [0, ...LADDER_MS]) {
    const waitMs = Math.max(rungMs * entropy.fraction(), progress.waitAtLeastMs);
    if (clock.nowMs() + waitMs + SHORTEST_CALL_MS > call.deadlineMs) break;
    if (waitMs > 0) await clock.sleep(waitMs);
    progress.waitAtLeastMs = 0;
    const looked = await lookBeforeSending(tools, call, progress);
    const rung = looked.kind === 'send' ? await send(tools, call, progress, effect) : looked;
    if (rung.kind === 'answered') return rung;
    if (rung.kind === 'give_up') break;
    progress.rung += 1;
  }
  observer.count(vendor, 'outbound_gave_up');
  // Whatever came after it: one of the sends may have been applied.
  return { kind: 'gave_up', fault: progress.unanswered?.fault ?? progress.fault, attempts: progress.sent };
}

/** After a send without an answer, says `send` only once nothing can come of it any more, or nothing double. */
async function lookBeforeSending<T>(tools: LadderTools, call: OutboundCall<T>, progress: Progress): Promise<Rung<T>> {
  if (call.idempotent !== 'by_lookup' || progress.unanswered === undefined) return { kind: 'send' };
  const { atMs } = progress.unanswered;
  const askedAtMs = tools.clock.nowMs();
  try {
    const found = await reach(tools, call, progress, 'read', call.lookUp);
    if (found === undefined) return { kind: 'climb' };
    if (found.kind === 'found') return { kind: 'answered', answer: found.answer };
  } catch (error) {
    // A look-up without an answer changes nothing: the time of the send stands.
    return learn(tools, progress, error);
  }
  const lagLeftMs = atMs + call.maxLagMs - askedAtMs;
  if (lagLeftMs > 0) {
    progress.waitAtLeastMs = lagLeftMs;
    return { kind: 'climb' };
  }
  delete progress.unanswered;
  return { kind: 'send' };
}

async function send<T>(
  tools: LadderTools,
  call: OutboundCall<T>,
  progress: Progress,
  effect: 'read' | 'write',
): Promise<Rung<T>> {
  try {
    const sent = await reach(tools, call, progress, effect, async (limit) => {
      progress.sent += 1;
      return { answer: await call.send(limit) };
    });
    return sent === undefined ? { kind: 'climb' } : { kind: 'answered', answer: sent.answer };
  } catch (error) {
    const next = learn(tools, progress, error);
    if (!(error instanceof AmbiguousError) || effect === 'read') return next;
    progress.unanswered = { fault: error, atMs: tools.clock.nowMs() };
    return call.idempotent === 'never' ? { kind: 'give_up' } : next;
  }
}

/**
 * Lets one call through to the vendor; undefined when time or the retry budget has nothing left for it. Whoever comes
 * from a later rung takes from the budget, sent before or not: a crowd that waited before an open breaker is no burst
 * when it closes.
 */
async function reach<R>(
  { vendor, clock, guard, budget, observer, timeoutMs, probeTimeoutMs }: LadderTools,
  { deadlineMs }: { readonly deadlineMs: number },
  progress: Progress,
  effect: 'read' | 'write',
  make: (limit: CallLimit) => Promise<R>,
): Promise<R | undefined> {
  if (!guard.isClosed()) {
    // Nobody waits for a probe that may end after the deadline.
    if (deadlineMs - clock.nowMs() < probeTimeoutMs + SHORTEST_CALL_MS) throw guard.refusal();
    await guard.ready();
  }
  const leftMs = deadlineMs - clock.nowMs();
  if (leftMs < SHORTEST_CALL_MS) return undefined;
  if (progress.rung + progress.reached > 0 && !budget.take()) return undefined;
  return guard[effect](() => {
    if (progress.reached === 0) budget.earn();
    observer.count(vendor, progress.reached === 0 ? 'outbound_call' : 'outbound_retry');
    progress.reached += 1;
    return make({ timeoutMs: Math.min(timeoutMs, leftMs) });
  });
}

/** Takes in what was thrown. @throws whatever is no fault of the world */
function learn({ vendor }: LadderTools, progress: Progress, error: unknown): Rung<never> {
  if (error instanceof TerminalError) {
    progress.fault = error;
    return { kind: 'give_up' };
  }
  if (!(error instanceof RetryableError || error instanceof AmbiguousError)) throw error;
  progress.fault = error;
  // The breaker's pause began before this call came: the rung is as good a time to look again.
  if (!isCircuitOpen(error, vendor)) progress.waitAtLeastMs = (error.retryAfterSeconds ?? 0) * 1_000;
  return { kind: 'climb' };
}

function noTime(vendor: string): RetryableError {
  return new RetryableError(`${vendor}_no_time`, `There was no time left to call the ${vendor}.`);
}
