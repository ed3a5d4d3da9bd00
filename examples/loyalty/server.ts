import { createServer } from 'node:http';
import { Pool } from 'pg';
import { listenerOf } from '../listener.ts';
import { loyalty, TABLES } from './loyalty.ts';
import { vouchers } from './vouchers.ts';

/** Starts the service: `DATABASE_URL=… LOYALTY_JOB_SECRET=… node examples/loyalty/server.ts`. */
const { DATABASE_URL: connectionString = '', LOYALTY_JOB_SECRET: secret = '{}', PORT = '8788' } = process.env;
const { VOUCHERS_URL: url = '' } = process.env;
if (connectionString === '') throw new Error('set DATABASE_URL');

const pool = new Pool({ connectionString });
pool.on('error', (error) => console.error(error.message));
await pool.query(TABLES);
const secrets = Object.values(JSON.parse(secret) as Readonly<Record<string, string>>);
const { app, deleteExpired } = loyalty({ pool, jobSecrets: async () => secrets });
const buyOrdered = vouchers({ pool, url });
if (url !== '') setInterval(() => void buyOrdered().catch(console.error), 60_000);
setInterval(() => void deleteExpired().catch(console.error), 86_400_000);
createServer(listenerOf(app.fetch)).listen(Number(PORT), '127.0.0.1', () => console.log(`http://localhost:${PORT}`));
