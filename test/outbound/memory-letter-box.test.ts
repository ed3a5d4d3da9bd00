import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeLetterBox } from './letter-box-suite.ts';
import { MemoryLetterBox } from './memory-letter-box.ts';

describeLetterBox('memory', async () => {
  const box = new MemoryLetterBox(new SimulatedClock());
  return { box, putUnreadable: async () => box.putUnreadable() };
});
