import { MemoryStore } from '../../lambdas/adapters/memory/memory-store.ts';
import { describeHolds } from '../contract-suites/due-queue-suite.ts';
import { heldEffect } from '../support/held-effect.ts';

describeHolds('memory', async () => {
  const store = new MemoryStore();
  return { holds: store.holds, write: async (hold) => void (await store.recordEffect(heldEffect(hold))) };
});
