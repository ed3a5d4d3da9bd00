import { MemoryStore } from '../../lambdas/adapters/memory/memory-store.ts';
import { describeEffectStore } from '../contract-suites/effect-store-suite.ts';

describeEffectStore('memory', async () => {
  const store = new MemoryStore();
  return { payments: store, effects: store };
});
