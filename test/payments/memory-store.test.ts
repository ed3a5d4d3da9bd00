import { chargeOperation } from '../../lambdas/kernel/ids.ts';
import { MemoryStore } from './memory-store.ts';
import { describePaymentStore } from './payment-store-suite.ts';

describePaymentStore('memory', async () => {
  const store = new MemoryStore();
  return { store, deleteRecord: async (paymentId) => store.deleteRecord(chargeOperation(paymentId)) };
});
