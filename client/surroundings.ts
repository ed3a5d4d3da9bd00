/** The environment of the client: Node 20.3 and later, and browsers. Replaced in tests. */
export interface Runtime {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Returns the current time in Unix milliseconds, for the dates of `Retry-After`. */
  readonly nowMs: () => number;
  /** Returns the milliseconds of a monotonic clock, for time limits. */
  readonly elapsedMs: () => number;
  /** Waits. Rejects early, with the signal's reason, when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Returns a signal that is aborted after this time. */
  readonly expire: (ms: number) => AbortSignal;
  /** Returns a random number from 0 (inclusive) to 1 (exclusive), for jitter only. */
  readonly fraction: () => number;
  /** Returns a key that was never used: 122 random bits. */
  readonly mintKey: () => string;
}

export const SYSTEM: Runtime = {
  fetch: (url, init) => fetch(url, init),
  nowMs: () => Date.now(),
  elapsedMs: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      if (signal?.aborted === true) stop();
      else signal?.addEventListener('abort', stop, { once: true });
    }),
  // Node accepts whole milliseconds only.
  expire: (ms) => AbortSignal.timeout(Math.ceil(ms)),
  fraction: () => Math.random(),
  mintKey: () => crypto.randomUUID(),
};
