import { createServer } from 'node:http';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { listenerOf } from '../listener.ts';
import { membership } from './membership.ts';

/** Starts the service: `MEMBERSHIP_TABLE=… MEMBERSHIP_JOB_SECRET=… node examples/membership/server.ts` */
const { MEMBERSHIP_TABLE: table = '', MEMBERSHIP_JOB_SECRET: secret = '', PORT = '8787' } = process.env;
if (table === '' || secret === '') throw new Error('set MEMBERSHIP_TABLE and MEMBERSHIP_JOB_SECRET');

const app = membership({ table, client: documentClient(), jobSecrets: async () => [secret], nowMs: Date.now });
createServer(listenerOf(app.fetch)).listen(Number(PORT), '127.0.0.1');
