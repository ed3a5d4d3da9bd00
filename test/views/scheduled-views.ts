import type fc from 'fast-check';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import type { ViewKey } from '../../lambdas/views/domain/lists.ts';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import type { RowChange, ViewRange, ViewStore } from '../../lambdas/views/use/view-store.ts';

/** The worker can crash before or after one of its calls. */
export class ScheduledViews implements ViewStore {
  readonly #store: ViewStore;
  readonly #scheduler: fc.Scheduler;
  #callsLeft: number;
  readonly #diesAfterCall: boolean;

  constructor(store: ViewStore, scheduler: fc.Scheduler, calls = Number.POSITIVE_INFINITY, diesAfterCall = false) {
    this.#store = store;
    this.#scheduler = scheduler;
    this.#callsLeft = calls;
    this.#diesAfterCall = diesAfterCall;
  }

  /** Puts the rows one at a time, because a failed call of the real store may have written only some of the rows. */
  async put(rows: readonly ViewRow[]): Promise<void> {
    for (const row of rows) await this.#turn('put', () => this.#store.put([row]));
  }

  read(key: ViewKey): Promise<ViewRow | undefined> {
    return this.#turn('read', () => this.#store.read(key));
  }

  readAll(keys: readonly ViewKey[]): Promise<readonly (ViewRow | undefined)[]> {
    return this.#turn('readAll', () => this.#store.readAll(keys));
  }

  exchange(changes: readonly RowChange[]): Promise<boolean> {
    return this.#turn('exchange', () => this.#store.exchange(changes));
  }

  range(range: ViewRange): Promise<readonly ViewRow[]> {
    return this.#turn('range', () => this.#store.range(range));
  }

  async #turn<Result>(name: string, call: () => Promise<Result>): Promise<Result> {
    this.#callsLeft -= 1;
    if (this.#callsLeft < 0) throw new RetryableError('gone', 'the worker has crashed');
    const dies = this.#callsLeft === 0;
    if (dies && !this.#diesAfterCall) throw new RetryableError('gone', 'the worker crashed before its call');
    await this.#scheduler.schedule(Promise.resolve(), name);
    const result = await call();
    if (dies) throw new RetryableError('gone', 'the worker crashed after its call');
    return result;
  }
}
