import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import type { Books } from '../../sandbox/books.ts';
import { createDynamoDbBooks } from '../../sandbox/dynamodb-books.ts';
import { MemoryDynamoDb } from './memory-dynamodb.ts';
import type { TableShape } from './memory-table.ts';

/** Partition-key prefixes of the sandbox's rows. The rows are checked only when the books read them. */
const ROWS = [
  ['CHARGE#', 'EVENT#', 'PART#', 'KEY#', 'PAYMENT#', 'DAY#', 'CONTROL', 'EMAIL#', 'EMAIL_LABEL#'],
  ['STOCK', 'CREDITS'].flatMap((service) => [`${service}#`, `${service}_KEY#`, `${service}_ORDER#`]),
].flat();

const SANDBOX: TableShape = {
  name: 'Sandbox',
  partition: { name: KeyAttribute.partition, type: 'S' },
  sort: { name: KeyAttribute.sort, type: 'S' },
  readers: Object.fromEntries(ROWS.map((row) => [row, () => undefined])),
};

export function emptyBooks(): Books {
  const { client } = new MemoryDynamoDb({ tables: [SANDBOX] });
  return createDynamoDbBooks({ client, tableName: SANDBOX.name, wait: async () => {} });
}
