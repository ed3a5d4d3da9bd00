import { MemoryConsumerRecords } from '../../lambdas/adapters/memory/memory-consumer-records.ts';
import { describeConsumerRecords } from '../contract-suites/consumer-records-suite.ts';

describeConsumerRecords('memory', async () => {
  const records = new MemoryConsumerRecords();
  return { records, row: async (key) => records.row(key) };
});
