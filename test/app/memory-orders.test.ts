import { MemoryStore } from '../../lambdas/adapters/memory/memory-store.ts';
import { describeOrderStore } from '../contract-suites/order-store-suite.ts';

describeOrderStore('memory', async () => {
  const store = new MemoryStore();
  return { orders: store, payments: store, effects: store, work: store };
});
