import { once } from 'node:events';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemClock } from '../../lambdas/kernel/platform/platform.ts';
import { type Bucket, TenantLimits } from '../../lambdas/tenants/limits.ts';
import { DynamoDbLimits } from '../../lambdas/tenants/store/dynamodb-limits.ts';
import type { LimitRequest } from './limits.stores.test.ts';

/**
 * Prints `ready`, starts at the first byte of standard input, and ends when its time is over and at least one request
 * was refused.
 */
const { table, bucket, limit, seconds } = JSON.parse(process.argv[2] ?? '') as LimitRequest;
const client = new DynamoDBClient({ maxAttempts: 1 });
const limits = new TenantLimits(new DynamoDbLimits(documentClient(client), table, limit), systemClock);
console.log('ready');
await once(process.stdin, 'data');
process.stdin.destroy();
/** Maximum number of requests if none is refused. It is far above the tokens of the test. */
const MAX_TENANTS = 10_000;
const fromMs = Date.now();
let admitted = 0;
let asked = 0;
while (Date.now() < fromMs + seconds * 1_000 || (asked === admitted && asked < MAX_TENANTS)) {
  asked += 1;
  const { kind } = await limits.admit(bucket as Bucket);
  if (kind === 'admitted') admitted += 1;
  else await new Promise((resolve) => setTimeout(resolve, 2));
}
console.log(JSON.stringify({ fromMs, untilMs: Date.now(), admitted, asked }));
client.destroy();
