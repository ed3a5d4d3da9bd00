import { MemoryLedgerReader } from '../../lambdas/adapters/memory/memory-ledger-reader.ts';
import type { Transition } from '../../lambdas/core/transition.ts';
import { describeLedgerReader } from '../contract-suites/ledger-reader-suite.ts';

describeLedgerReader('memory', async () => {
  const written: Transition[] = [];
  return {
    reader: new MemoryLedgerReader(() => written),
    write: async (transitions) => {
      written.push(...transitions);
    },
  };
});
