import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';
import { describeLimits } from './limits-suite.ts';

describeLimits('in memory', async () => ({
  client: new MemoryDynamoDb({ tables: TABLE_SHAPES }).client,
  tables: TABLES,
}));
