import { heldEffect } from '../payments/held-effect.ts';
import { MemoryStore } from '../payments/memory-store.ts';
import { describeHolds } from './due-queue-suite.ts';

describeHolds('memory', async () => {
  const store = new MemoryStore();
  return { holds: store.holds, write: async (hold) => void (await store.recordEffect(heldEffect(hold))) };
});
