import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { describeLedgerReader } from './ledger-reader-suite.ts';
import { MemoryLedgerReader } from './memory-ledger-reader.ts';

describeLedgerReader('memory', async () => {
  const written: Transition[] = [];
  return {
    reader: new MemoryLedgerReader(() => written),
    write: async (transitions) => {
      written.push(...transitions);
    },
  };
});
