import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { DynamoDbLedgerWalk } from '../../lambdas/views/store/dynamodb-ledger-walk.ts';
import {
  type RebuildState,
  type RebuildTools,
  type Rebuilt,
  rebuildBegin,
  rebuildViews,
} from '../../lambdas/views/use/rebuild-views.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { emptyTables, Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { MemoryViews } from './memory-views.ts';

/** Two or three rows. */
const PAGE_BYTES = 2_000;

/** A Ledger that grows, its Views, and a rebuild of them. */
export class RebuildHarness {
  readonly written: Transition[] = [];
  readonly clock: SimulatedClock;
  readonly views: MemoryViews;
  readonly #stores: Stores;
  readonly states: RebuildState[] = [];

  constructor(nowMs: number, written: readonly Transition[] = []) {
    this.clock = new SimulatedClock(nowMs);
    const database = emptyTables(this.clock, { pageBytes: PAGE_BYTES });
    this.#stores = new Stores(this.clock, database);
    this.views = new MemoryViews(database);
    this.write(written);
  }

  write(transitions: readonly Transition[]): void {
    this.written.push(...transitions);
    void this.#stores.write(transitions);
  }

  tools(changes: Partial<RebuildTools> = {}): RebuildTools {
    const pacing = { clock: this.clock, entropy: countingEntropy() };
    return {
      views: this.views,
      ledger: new DynamoDbLedgerWalk(this.#stores.database.client, TABLES.ledger, pacing),
      store: this.#stores,
      orders: this.#stores,
      digest: systemDigest,
      ...pacing,
      ...changes,
    };
  }

  /** @param diesAt before how many states were told */
  rebuild(changes: Partial<RebuildTools> = {}, state = rebuildBegin(2), diesAt = Infinity): Promise<Rebuilt> {
    return rebuildViews(this.tools(changes), state, async (reached) => {
      if (this.states.length >= diesAt) throw new Error('the process is gone');
      this.states.push(reached);
    });
  }

  compare(): Promise<Rebuilt> {
    return this.rebuild({}, rebuildBegin(2, 'compare_ledger'));
  }
}
