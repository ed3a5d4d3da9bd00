import { describeConsumerRecords } from './consumer-records-suite.ts';
import { MemoryConsumerRecords } from './memory-consumer-records.ts';

describeConsumerRecords('memory', async () => {
  const records = new MemoryConsumerRecords();
  return { records, row: async (key) => records.row(key) };
});
