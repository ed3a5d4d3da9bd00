import { MemoryStore } from '../payments/memory-store.ts';
import { describeUnfinishedWork } from './unfinished-work-suite.ts';

describeUnfinishedWork('memory', async () => {
  const store = new MemoryStore();
  return { payments: store, effects: store, work: store, nextRun: () => undefined };
});
