import { MemoryLetterBox } from '../../lambdas/adapters/memory/memory-letter-box.ts';
import { describeLetterBox } from '../contract-suites/letter-box-suite.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

describeLetterBox('memory', async () => {
  const box = new MemoryLetterBox(new SimulatedClock());
  return { box, putUnreadable: async () => box.putUnreadable() };
});
