import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen, isBrokenCircuitError } from 'cockatiel';
import { RetryableError } from '../kernel/faults.ts';
import { systemClock } from '../kernel/platform/platform.ts';
import type { Clock } from '../kernel/world.ts';

export interface BreakerSettings {
  /** The number of consecutive failures that opens the breaker. */
  readonly consecutiveFailures: number;
  /** Milliseconds for which an open breaker refuses all calls. Then one probe may be sent. */
  readonly openForMs: number;
}

/**
 * The circuit breaker for calls to one vendor. It opens after consecutive failures and then refuses every call immediately.
 * After a pause, one *read* probes whether the vendor is available again. A write is never the probe.
 */
export interface CallGuard {
  /** Whether calls are sent without a probe. */
  isClosed(): boolean;
  /** The fault with which an open breaker refuses a call. */
  refusal(): RetryableError;
  /**
   * Returns immediately while the breaker is closed. Runs the probe while it is half-open.
   *
   * @throws RetryableError `<party>_circuit_open` while the breaker is open
   */
  ready(): Promise<void>;
  /** Sends a write, only while the breaker is closed. @throws RetryableError `<party>_circuit_open`, or the error of the call */
  write<T>(call: () => Promise<T>): Promise<T>;
  /** Sends a read, which may be the probe: its success closes the breaker. @throws as `write` */
  read<T>(call: () => Promise<T>): Promise<T>;
}

export interface GuardOptions {
  readonly settings: BreakerSettings;
  /** Reads the vendor's health. Throws if the vendor is unavailable. */
  readonly probe: () => Promise<void>;
  /** Whether an error indicates that the vendor is unavailable. Other errors are thrown without being counted. */
  readonly isFailure: (error: unknown) => boolean;
  /** Measures the pause. @default the system clock */
  readonly clock?: Pick<Clock, 'nowMs'>;
  /** The prefix of the fault's code. @default processor */
  readonly party?: string;
  /** Called each time the breaker opens, also after a failed probe. */
  readonly onOpened?: () => void;
}

/** Creates the breaker of one vendor in this process. Its state is in memory and is not shared with other processes. */
export function createCallGuard(options: GuardOptions): CallGuard {
  const { settings, probe, isFailure, clock = systemClock, party = 'processor', onOpened } = options;
  const open = (cause?: unknown) => circuitOpen(party, settings, cause);
  // Cockatiel counts the failures, changes the state and allows one probe. It measures its pause by the system clock, which
  // cannot be replaced. So its pause is set to zero, and the pause is measured here by `clock`.
  const breaker = circuitBreaker(
    handleWhen((error) => isCircuitOpen(error, party) || isFailure(error)),
    { halfOpenAfter: 0, breaker: new ConsecutiveBreaker(settings.consecutiveFailures) },
  );
  let openUntilMs = Number.NEGATIVE_INFINITY;
  breaker.onBreak(() => {
    openUntilMs = clock.nowMs() + settings.openForMs;
    onOpened?.();
  });
  const isPaused = () => breaker.state === CircuitState.Open && clock.nowMs() < openUntilMs;

  const run = async <T>(call: () => Promise<T>): Promise<T> => {
    if (isPaused()) throw open();
    try {
      return await breaker.execute(call);
    } catch (error) {
      throw isBrokenCircuitError(error) ? open(error) : error;
    }
  };

  // Any error of the probe keeps the breaker open.
  const probeOnce = () =>
    probe().catch((cause: unknown) => {
      throw open(cause);
    });

  // Concurrent callers wait for the same probe.
  let probing: Promise<void> | undefined;
  const ready = async () => {
    if (breaker.state === CircuitState.Closed) return;
    probing ??= run(probeOnce).finally(() => {
      probing = undefined;
    });
    await probing;
  };

  return {
    isClosed: () => breaker.state === CircuitState.Closed,
    refusal: () => open(),
    ready,
    write: async (call) => {
      await ready();
      // Another call may have opened the breaker since the probe. A write must not be the next probe.
      if (breaker.state !== CircuitState.Closed) throw open();
      return run(call);
    },
    read: run,
  };
}

function circuitOpen(party: string, settings: BreakerSettings, cause?: unknown): RetryableError {
  return new RetryableError(
    `${party}_circuit_open`,
    `The circuit breaker of the ${party} is open after repeated failures.`,
    { cause, retryAfterSeconds: Math.max(1, Math.ceil(settings.openForMs / 1_000)) },
  );
}

/** Whether a breaker refused the call, so that nothing was sent. */
export function isCircuitOpen(error: unknown, party: string): error is RetryableError {
  return error instanceof RetryableError && error.code === `${party}_circuit_open`;
}
