import { MemoryLedgerReader } from '../../lambdas/adapters/memory/memory-ledger-reader.ts';
import { MemoryViews } from '../../lambdas/adapters/memory/memory-views.ts';
import { systemDigest } from '../../lambdas/adapters/system/platform.ts';
import { closeDays } from '../../lambdas/app/close-days.ts';
import { projectEvent } from '../../lambdas/app/project-event.ts';
import { ViewLedgerReader } from '../../lambdas/app/view-ledger-reader.ts';
import type { Transition } from '../../lambdas/core/transition.ts';
import { describeLedgerReader } from '../contract-suites/ledger-reader-suite.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { eventsOf } from '../support/event-fixtures.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

/** @param clockMs the closers' time; what was before is closed after every write */
function describeViews(name: string, clockMs?: number): void {
  describeLedgerReader(name, async () => {
    const written: Transition[] = [];
    const views = new MemoryViews();
    return {
      reader: new ViewLedgerReader(views, new MemoryLedgerReader(() => written)),
      write: async (transitions) => {
        written.push(...transitions);
        for (const event of eventsOf(systemDigest, transitions)) {
          await projectEvent({ views }, event);
          if (clockMs === undefined) continue;
          const owner = { tenantId: event.tenant, mode: event.mode };
          await closeDays({ views, clock: new SimulatedClock(clockMs), entropy: countingEntropy() }, owner, 3);
        }
      },
    };
  });
}

describeViews('the views');
describeViews('the views, with their days closed', Date.UTC(2026, 2, 5));
