import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen, isBrokenCircuitError } from 'cockatiel';
import { RetryableError } from '../kernel/faults.ts';
import { systemClock } from '../kernel/platform/platform.ts';
import type { Clock } from '../kernel/world.ts';

export interface BreakerSettings {
  /** So many failures in a row open it. */
  readonly consecutiveFailures: number;
  /** How long it then keeps callers away before one probe may pass. Milliseconds. */
  readonly openForMs: number;
}

/**
 * A guard for calls to one vendor. It opens after failures in a row and then refuses every call at once; when its
 * time is over, one *read* finds out whether the vendor is back. A call that changes something is never that probe.
 */
export interface CallGuard {
  /** Whether calls pass without a probe. */
  isClosed(): boolean;
  /** What a call is refused with while it is open. */
  refusal(): RetryableError;
  /**
   * Returns at once while closed; runs the probe when half open.
   *
   * @throws RetryableError `<party>_circuit_open` while the vendor must not be called
   */
  ready(): Promise<void>;
  /** Runs a call that changes something; only while closed. @throws RetryableError `<party>_circuit_open`, or what the call throws */
  write<T>(call: () => Promise<T>): Promise<T>;
  /** Runs a call that changes nothing, so it may be the probe; its success is a sign of health. @throws as `write` */
  read<T>(call: () => Promise<T>): Promise<T>;
}

export interface GuardOptions {
  readonly settings: BreakerSettings;
  /** A read of the vendor's health; throws when it is not well. */
  readonly probe: () => Promise<void>;
  /** Whether an error tells that the vendor is not well; others pass through uncounted. */
  readonly isFailure: (error: unknown) => boolean;
  /** Tells when the pause is over. @default the machine's own */
  readonly clock?: Pick<Clock, 'nowMs'>;
  /** Whose name the fault's code begins with. @default processor */
  readonly party?: string;
  /** Called each time that it opens, after a failed probe too. */
  readonly onOpened?: () => void;
}

/** One per process and vendor, kept in memory: each process finds out for itself. */
export function createCallGuard(options: GuardOptions): CallGuard {
  const { settings, probe, isFailure, clock = systemClock, party = 'processor', onOpened } = options;
  const open = (cause?: unknown) => circuitOpen(party, settings, cause);
  // Cockatiel counts the failures, changes the state and lets one probe through. It would time the pause by the wall
  // clock, which cannot be replaced: so it is told that there is none, and the pause is kept here, by our clock.
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

  // Whatever is wrong with the probe's answer, the vendor is not known to be back.
  const mustBeWell = () =>
    probe().catch((cause: unknown) => {
      throw open(cause);
    });

  // Whoever comes while the probe is under way waits for it, so that one read answers them all.
  let probing: Promise<void> | undefined;
  const ready = async () => {
    if (breaker.state === CircuitState.Closed) return;
    probing ??= run(mustBeWell).finally(() => {
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
      // A rival's failure may have opened it again since the probe, and a write must not become the next probe.
      if (breaker.state !== CircuitState.Closed) throw open();
      return run(call);
    },
    read: run,
  };
}

function circuitOpen(party: string, settings: BreakerSettings, cause?: unknown): RetryableError {
  return new RetryableError(
    `${party}_circuit_open`,
    `The ${party} failed too often in a row; it is left alone for a while.`,
    { cause, retryAfterSeconds: Math.max(1, Math.ceil(settings.openForMs / 1_000)) },
  );
}

/** Whether a guard refused the call, so that nothing was sent. */
export function isCircuitOpen(error: unknown, party: string): error is RetryableError {
  return error instanceof RetryableError && error.code === `${party}_circuit_open`;
}
