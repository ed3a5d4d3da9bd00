import { RetryableError } from '../kernel/faults.ts';
import { systemClock } from '../kernel/platform/platform.ts';
import type { Clock } from '../kernel/world.ts';

export interface BreakerSettings {
  /** The number of consecutive failures that opens the breaker. */
  readonly consecutiveFailures: number;
  /** Time for which an open breaker refuses all calls, in milliseconds. After this time, one probe may be sent. */
  readonly openForMs: number;
}

/**
 * The circuit breaker for calls to one vendor. After consecutive failures, it opens and refuses every call immediately.
 * After a pause, one *read* probes whether the vendor is available again. A write is never the probe.
 */
export interface CircuitBreaker {
  /** While the breaker is closed, calls are sent without a probe. */
  isClosed(): boolean;
  refusal(): RetryableError;
  /**
   * Returns immediately while the breaker is closed. While the breaker is half-open, runs the probe, or waits for the
   * running one.
   *
   * @throws RetryableError `<party>_circuit_open` while the breaker is open, or if the probe fails
   */
  ready(): Promise<void>;
  /**
   * Sends a write if the breaker is closed, or was closed by a probe that this call made or awaited.
   * @throws RetryableError `<party>_circuit_open`, or the error from the call
   */
  write<T>(call: () => Promise<T>): Promise<T>;
  /**
   * Sends a read. While the breaker is half-open, the first read is the probe, and other reads wait for it. The breaker
   * closes if the probe succeeds, or fails with an error that does not indicate that the vendor is unavailable.
   * @throws as `write`
   */
  read<T>(call: () => Promise<T>): Promise<T>;
}

export interface CircuitBreakerOptions {
  readonly settings: BreakerSettings;
  /** Throws if the vendor is unavailable. */
  readonly probe: () => Promise<void>;
  /** Other errors are thrown without being counted. */
  readonly isFailure: (error: unknown) => boolean;
  /** Measures the pause. @default the system clock */
  readonly clock?: Pick<Clock, 'nowMs'>;
  /** The prefix of the fault's code. @default processor */
  readonly party?: string;
  /** Also called after a failed probe. */
  readonly onOpened?: () => void;
}

/** The state is in memory and is not shared with other processes. */
export function createCircuitBreaker(options: CircuitBreakerOptions): CircuitBreaker {
  return new InProcessCircuitBreaker(options);
}

class InProcessCircuitBreaker implements CircuitBreaker {
  readonly #options: CircuitBreakerOptions;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #party: string;
  #failures = 0;
  /** The end of the pause. Absent while the breaker is closed. */
  #openUntilMs: number | undefined;
  /** The probe, while the breaker is half-open. Resolves to the probe's error, if the probe fails. */
  #probing: Promise<unknown> | undefined;

  constructor(options: CircuitBreakerOptions) {
    const { clock = systemClock, party = 'processor' } = options;
    this.#options = options;
    this.#clock = clock;
    this.#party = party;
  }

  isClosed(): boolean {
    return this.#openUntilMs === undefined;
  }

  refusal(cause?: unknown): RetryableError {
    return new RetryableError(
      `${this.#party}_circuit_open`,
      `A circuit breaker is open after repeated failures: ${this.#party}.`,
      { cause, retryAfterSeconds: Math.max(1, Math.ceil(this.#options.settings.openForMs / 1_000)) },
    );
  }

  async ready(): Promise<void> {
    if (this.isClosed()) return;
    if (this.#probing !== undefined) return this.#waitForProbe();
    // Any error of the health check keeps the breaker open.
    await this.#probeBy(() =>
      this.#options.probe().catch((cause: unknown) => {
        throw this.refusal(cause);
      }),
    );
  }

  async write<T>(call: () => Promise<T>): Promise<T> {
    await this.ready();
    // The breaker may have opened again after the probe, because of another call. A write must not be the next probe.
    if (!this.isClosed()) throw this.refusal();
    return this.#count(call);
  }

  async read<T>(call: () => Promise<T>): Promise<T> {
    if (this.#probing !== undefined) await this.#waitForProbe();
    else if (!this.isClosed()) return this.#probeBy(call);
    return this.#count(call);
  }

  async #count<T>(call: () => Promise<T>): Promise<T> {
    try {
      const answer = await call();
      this.#failures = 0;
      return answer;
    } catch (error) {
      if (this.#options.isFailure(error)) this.#failures += 1;
      // If a call was already in flight when the breaker opened, its failure does not prolong the pause.
      if (this.isClosed() && this.#failures >= this.#options.settings.consecutiveFailures) this.#open();
      throw error;
    }
  }

  async #probeBy<T>(call: () => Promise<T>): Promise<T> {
    if (this.#clock.nowMs() < (this.#openUntilMs ?? 0)) throw this.refusal();
    const answer = call();
    this.#probing = answer.then(
      () => this.#close(),
      (error: unknown) => {
        if (this.#options.isFailure(error) || isCircuitOpen(error, this.#party)) this.#open();
        else this.#close();
        return error;
      },
    );
    await this.#probing.finally(() => {
      this.#probing = undefined;
    });
    return answer;
  }

  async #waitForProbe(): Promise<void> {
    const cause = await this.#probing;
    if (!this.isClosed()) throw this.refusal(cause);
  }

  #open(): void {
    const { settings, onOpened } = this.#options;
    this.#openUntilMs = this.#clock.nowMs() + settings.openForMs;
    onOpened?.();
  }

  #close(): void {
    this.#failures = 0;
    this.#openUntilMs = undefined;
  }
}

/** The breaker refused the call, so nothing was sent. */
export function isCircuitOpen(error: unknown, party: string): error is RetryableError {
  return error instanceof RetryableError && error.code === `${party}_circuit_open`;
}
