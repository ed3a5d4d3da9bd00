import { MemoryStore } from '../payments/memory-store.ts';
import { heldEffect } from '../support/held-effect.ts';
import { describeHolds } from './due-queue-suite.ts';

describeHolds('memory', async () => {
  const store = new MemoryStore();
  return { holds: store.holds, write: async (hold) => void (await store.recordEffect(heldEffect(hold))) };
});
