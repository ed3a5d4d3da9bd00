import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import {
  initialRebuildState,
  type RebuildState,
  type RebuildTools,
  type Rebuilt,
  rebuildViews,
} from '../../lambdas/views/use/rebuild-views.ts';
import { World } from '../world/world.ts';

/** Page size in bytes, enough for two or three rows. */
const PAGE_BYTES = 2_000;

export class RebuildWorld extends World {
  readonly written: Transition[] = [];
  readonly states: RebuildState[] = [];

  constructor(nowMs: number, written: readonly Transition[] = []) {
    super({ nowMs, pageBytes: PAGE_BYTES });
    this.write(written);
  }

  write(transitions: readonly Transition[]): void {
    this.written.push(...transitions);
    void this.store.write(transitions);
  }

  /** @param crashesAt number of reported states after which the process crashes */
  rebuild(changes: Partial<RebuildTools> = {}, state = initialRebuildState(2), crashesAt = Infinity): Promise<Rebuilt> {
    const { store, views } = this;
    const tools = { ...this.basics, views, ledger: store.ledgerScan, store, orders: store, ...changes };
    return rebuildViews(tools, state, async (reached) => {
      if (this.states.length >= crashesAt) throw new Error('the process has crashed');
      this.states.push(reached);
    });
  }

  compare(): Promise<Rebuilt> {
    return this.rebuild({}, initialRebuildState(2, 'compare_ledger'));
  }
}
