import { MemoryStore } from '../../lambdas/adapters/memory/memory-store.ts';
import { chargeOperation } from '../../lambdas/core/ids.ts';
import { describePaymentStore } from '../contract-suites/payment-store-suite.ts';

describePaymentStore('memory', async () => {
  const store = new MemoryStore();
  return { store, deleteRecord: async (paymentId) => store.deleteRecord(chargeOperation(paymentId)) };
});
