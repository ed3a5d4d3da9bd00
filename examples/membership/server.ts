import { createServer } from 'node:http';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { listenerOf } from '../listener.ts';
import { membership } from './membership.ts';
import { createTable } from './table.ts';

/**
 * Starts the service, and creates its table if there is none: `MEMBERSHIP_TABLE=… MEMBERSHIP_JOB_SECRET=… node
 * examples/membership/server.ts`. The secret is the text of `JobTargetmembership`, a JSON object.
 */
const { MEMBERSHIP_TABLE: table = '', MEMBERSHIP_JOB_SECRET: secret = '', PORT = '8787' } = process.env;
if (table === '' || secret === '') throw new Error('set MEMBERSHIP_TABLE and MEMBERSHIP_JOB_SECRET');

const database = new DynamoDBClient();
await createTable(database, table);
const secrets = Object.values(JSON.parse(secret) as Readonly<Record<string, string>>);
const app = membership({ table, client: documentClient(database), jobSecrets: async () => secrets, nowMs: Date.now });
createServer(listenerOf(app.fetch)).listen(Number(PORT), '127.0.0.1', () => console.log(`http://localhost:${PORT}`));
