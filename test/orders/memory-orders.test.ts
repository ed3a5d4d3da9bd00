import { MemoryStore } from '../payments/memory-store.ts';
import { describeOrderStore } from './order-store-suite.ts';

describeOrderStore('memory', async () => {
  const store = new MemoryStore();
  return { orders: store, payments: store, effects: store, work: store };
});
