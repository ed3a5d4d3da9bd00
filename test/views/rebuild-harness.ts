import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import {
  type RebuildState,
  type RebuildTools,
  type Rebuilt,
  rebuildBegin,
  rebuildViews,
} from '../../lambdas/views/use/rebuild-views.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryLedgerWalk } from './memory-ledger-walk.ts';
import { MemoryViews } from './memory-views.ts';

/** A Ledger that grows, its Views, and a rebuild of them. */
export class RebuildHarness {
  readonly views = new MemoryViews();
  readonly written: Transition[] = [];
  readonly clock: SimulatedClock;
  readonly states: RebuildState[] = [];

  constructor(nowMs: number, written: readonly Transition[] = []) {
    this.clock = new SimulatedClock(nowMs);
    this.written.push(...written);
  }

  tools(changes: Partial<RebuildTools> = {}): RebuildTools {
    return {
      views: this.views,
      ledger: new MemoryLedgerWalk(() => this.written),
      store: {
        listTransitions: async (paymentId, { afterSequence, limit }) =>
          this.written
            .filter(({ payment, sequence }) => payment.id === paymentId && sequence > afterSequence)
            .slice(0, limit),
      },
      orders: { listOrderTransitions: async () => [] },
      digest: systemDigest,
      clock: this.clock,
      entropy: countingEntropy(),
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
