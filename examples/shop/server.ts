import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { listenerOf } from '../listener.ts';
import { shop } from './shop.ts';

const { PAYONCE_URL = '', PAYONCE_KEY = '', WEBHOOK_SECRETS = '', PORT = '3000', DATABASE = 'shop.db' } = process.env;
const { app, resume } = shop({
  database: new DatabaseSync(DATABASE),
  apiUrl: PAYONCE_URL,
  apiKey: PAYONCE_KEY,
  webhookSecrets: WEBHOOK_SECRETS.split(','),
});
await resume();
setInterval(() => void resume(), 60_000);
createServer(listenerOf(app.fetch)).listen(Number(PORT), '127.0.0.1', () => console.log(`http://localhost:${PORT}`));
