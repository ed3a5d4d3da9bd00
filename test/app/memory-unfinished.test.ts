import { MemoryStore } from '../../lambdas/adapters/memory/memory-store.ts';
import { describeUnfinishedWork } from '../contract-suites/unfinished-work-suite.ts';

describeUnfinishedWork('memory', async () => {
  const store = new MemoryStore();
  return { payments: store, effects: store, work: store, nextRun: () => undefined };
});
