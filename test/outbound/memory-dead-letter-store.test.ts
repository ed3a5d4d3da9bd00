import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeDeadLetterStore } from './dead-letter-store-suite.ts';
import { MemoryDeadLetterStore } from './memory-dead-letter-store.ts';

describeDeadLetterStore('memory', async () => {
  const box = new MemoryDeadLetterStore(new SimulatedClock());
  return { box, putUnreadable: async () => box.putUnreadable() };
});
