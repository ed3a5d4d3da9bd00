import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen, isBrokenCircuitError } from 'cockatiel';
import { RetryableError } from '../../core/faults.ts';

export interface BreakerSettings {
  /** So many failures in a row open it. */
  readonly consecutiveFailures: number;
  /** How long it then keeps callers away before one probe may pass. Milliseconds. */
  readonly openForMs: number;
}

/**
 * A guard for calls to one processor. It opens after failures in a row and then refuses every call at once; when its
 * time is over, one *read* finds out whether the processor is back. A call that moves money is never that probe.
 */
export interface CallGuard {
  /**
   * Returns at once while closed; runs the probe when half open.
   *
   * @throws RetryableError `processor_circuit_open` while the processor must not be called
   */
  ready(): Promise<void>;
  /** Runs a call that changes something; only while closed. @throws RetryableError `processor_circuit_open`, or what the call throws */
  write<T>(call: () => Promise<T>): Promise<T>;
  /** Runs a call that changes nothing, so it may be the probe; its success is a sign of health. @throws as `write` */
  read<T>(call: () => Promise<T>): Promise<T>;
}

export interface GuardOptions {
  readonly settings: BreakerSettings;
  /** A read of the processor's health; throws when it is not well. */
  readonly probe: () => Promise<void>;
  /** Whether an error tells that the processor is not well; others pass through uncounted. */
  readonly isFailure: (error: unknown) => boolean;
}

/** One per process and processor, kept in memory: each process finds out for itself. */
export function createCallGuard({ settings, probe, isFailure }: GuardOptions): CallGuard {
  const breaker = circuitBreaker(
    handleWhen((error) => isCircuitOpen(error) || isFailure(error)),
    {
      halfOpenAfter: settings.openForMs,
      breaker: new ConsecutiveBreaker(settings.consecutiveFailures),
    },
  );

  const run = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await breaker.execute(call);
    } catch (error) {
      throw isBrokenCircuitError(error) ? circuitOpen(settings, error) : error;
    }
  };

  // Whatever is wrong with the probe's answer, the processor is not known to be back.
  const mustBeWell = () =>
    probe().catch((cause: unknown) => {
      throw circuitOpen(settings, cause);
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
    ready,
    write: async (call) => {
      await ready();
      // A rival's failure may have opened it again since the probe, and a write must not become the next probe.
      if (breaker.state !== CircuitState.Closed) throw circuitOpen(settings);
      return run(call);
    },
    read: run,
  };
}

const CIRCUIT_OPEN = 'processor_circuit_open';

function circuitOpen(settings: BreakerSettings, cause?: unknown): RetryableError {
  return new RetryableError(CIRCUIT_OPEN, 'The processor failed too often in a row; it is left alone for a while.', {
    cause,
    retryAfterSeconds: Math.max(1, Math.ceil(settings.openForMs / 1_000)),
  });
}

function isCircuitOpen(error: unknown): boolean {
  return error instanceof RetryableError && error.code === CIRCUIT_OPEN;
}
