import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { closeDays } from '../../lambdas/views/use/close-days.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeLedgerReader } from './ledger-reader-suite.ts';
import { MemoryViews } from './memory-views.ts';

/** @param clockMs the time of the closer; days that ended before it are closed after every write */
function describeViews(name: string, clockMs?: number): void {
  describeLedgerReader(name, async () => {
    const written: Transition[] = [];
    const views = new MemoryViews();
    return {
      reader: new ViewLedgerReader(views),
      write: async (transitions) => {
        written.push(...transitions);
        for (const event of eventsOf(systemDigest, transitions)) {
          await projectEvent({ runner: idempotentRunner, views }, event);
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
