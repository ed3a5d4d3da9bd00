import { describeProcessor } from '../../../lambdas/processors/descriptor.ts';
import { tillhouseContract } from './contract.ts';

export const tillhouse = describeProcessor(tillhouseContract, {
  client: async () => (await import('./tillhouse-client.ts')).createTillhouseClient,
  books: async () => (await import('./tillhouse-client.ts')).createTillhouseBooks,
  signature: async () => (await import('./tillhouse-seal.ts')).tillhouseSeal,
  readEvent: async () => (await import('./tillhouse-notice.ts')).readTillhouseNotice,
});
