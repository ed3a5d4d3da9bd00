import { describeEffectStore } from './effect-store-suite.ts';
import { MemoryStore } from './memory-store.ts';

describeEffectStore('memory', async () => {
  const store = new MemoryStore();
  return { payments: store, effects: store };
});
