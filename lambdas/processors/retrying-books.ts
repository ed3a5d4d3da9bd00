import { AmbiguousError, RetryableError } from '../kernel/faults.ts';
import type { CallLimit, Clock, Entropy } from '../kernel/world.ts';
import { callWithRetries, type RetryTools, VENDOR_WAITS } from '../outbound/call-with-retries.ts';
import { type CircuitBreaker, createCircuitBreaker } from '../outbound/circuit-breaker.ts';
import { createRetryBudget } from '../outbound/retry-budget.ts';
import type { ProcessorBooks } from '../payments/use/processor.ts';

/**
 * Codes of transient faults: no response, 5xx, 429, and 409 (another request is in progress). The same read may succeed
 * later.
 */
const TRANSIENT: ReadonlySet<string> = new Set([
  'processor_unreachable',
  'processor_timeout',
  'processor_connection_lost',
  'processor_error',
  'processor_rate_limited',
  'processor_busy',
  'processor_conflict',
]);

const [FIRST_MS, SECOND_MS, THIRD_MS] = VENDOR_WAITS.inProcessMs;
/** Total wait between the attempts of a read, in milliseconds. The attempts themselves are not included. */
const WAITS_MS = FIRST_MS + SECOND_MS + THIRD_MS;

/**
 * Number of consecutive failed reads that opens the breaker of the books: as many reads as a job makes concurrently.
 * With a lower number, the failures of a few concurrent reads would open the breaker.
 */
const BREAKER_FAILURES = 10;
/** Time for which an open breaker refuses all reads, in milliseconds: about as long as a run reads one queue. */
const BREAKER_PAUSE_MS = 10_000;

/**
 * A circuit breaker that never opens. Jobs do not use the breaker for charges: a job can read for hours, and has its
 * own time limit.
 */
const NO_BREAKER: CircuitBreaker = {
  isClosed: () => true,
  refusal: () => new RetryableError('processor_circuit_open', 'Reads of the books have no circuit breaker.'),
  ready: async () => undefined,
  write: (call) => call(),
  read: (call) => call(),
};

/**
 * Creates the breaker of one processor's books, for jobs whose queues have entries of several processors. While a
 * processor does not respond, the reads for its entries fail immediately. Otherwise, their timeouts and retries would
 * delay the entries of the other processors. An unreadable charge does not open the breaker, because it concerns no
 * other charge.
 */
export function booksBreaker(clock: Pick<Clock, 'nowMs'>): CircuitBreaker {
  return createCircuitBreaker({
    settings: { consecutiveFailures: BREAKER_FAILURES, openForMs: BREAKER_PAUSE_MS },
    clock,
    // No separate probe is needed: this breaker sends only reads, and the first read after the pause is the probe.
    probe: async () => undefined,
    isFailure: isTransient,
  });
}

/**
 * Wraps books so that reads are retried after up to 0.5, 2 and 5 seconds, within the processor's retry budget. Only
 * jobs use this wrapper, because no client waits for their reads. If the last retry fails, the job's next run reads
 * again.
 */
export function retryingBooks(
  books: ProcessorBooks,
  { clock, entropy }: { readonly clock: Clock; readonly entropy: Pick<Entropy, 'fraction'> },
  breaker: Pick<CircuitBreaker, 'read'> = NO_BREAKER,
): ProcessorBooks {
  const tools: Omit<RetryTools, 'timeoutMs'> = {
    vendor: books.name,
    clock,
    entropy,
    // Count nothing here, because the job reports the fault.
    observer: { count: () => undefined },
    breaker: NO_BREAKER,
    budget: createRetryBudget(),
    probeTimeoutMs: 0,
    waitsMs: VENDOR_WAITS.inProcessMs,
  };
  const retried = async <T>({ timeoutMs }: CallLimit, read: (limit: CallLimit) => Promise<T>): Promise<T> => {
    const call = {
      operation: 'books.read',
      deadlineMs: clock.nowMs() + timeoutMs + WAITS_MS,
      idempotent: 'by_key' as const,
      send: (limit: CallLimit) => transientOnly(() => breaker.read(() => read(limit))),
    };
    const end = await callWithRetries({ ...tools, timeoutMs }, call, 'read');
    if (end.kind === 'gave_up') throw end.fault;
    if (end.answer.kind === 'final') throw end.answer.error;
    return end.answer.value;
  };
  return {
    ...books,
    readCharge: (chargeId, limit) => retried(limit, (each) => books.readCharge(chargeId, each)),
    chargesOfPayment: (paymentId, limit) => retried(limit, (each) => books.chargesOfPayment(paymentId, each)),
    listCharges: (window, limit) => retried(limit, (each) => books.listCharges(window, each)),
  };
}

type Read<T> = { readonly kind: 'read'; readonly value: T } | { readonly kind: 'final'; readonly error: unknown };

/**
 * Reads once.
 * @throws transient faults, so that the read is retried; other faults are returned, which ends the retries
 */
async function transientOnly<T>(read: () => Promise<T>): Promise<Read<T>> {
  try {
    return { kind: 'read', value: await read() };
  } catch (error) {
    if (isTransient(error)) throw error;
    return { kind: 'final', error };
  }
}

function isTransient(error: unknown): boolean {
  return (error instanceof RetryableError || error instanceof AmbiguousError) && TRANSIENT.has(error.code);
}
