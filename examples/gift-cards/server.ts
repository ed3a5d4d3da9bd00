import { createServer } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { listenerOf } from '../listener.ts';
import { giftCards } from './gift-cards.ts';

const { SIGNING_KEY = '', CALLBACK_URL = '', CALLBACK_SECRET = '', LIVEMODE = 'false' } = process.env;
const { PORT = '8080', DATABASE = 'gift-cards.db' } = process.env;
const { app, callBack } = giftCards({
  database: new DatabaseSync(DATABASE, { timeout: 5_000 }),
  signingKey: SIGNING_KEY,
  callbacks: { url: CALLBACK_URL, secret: CALLBACK_SECRET },
  livemode: LIVEMODE === 'true',
});
setInterval(() => void callBack(), 1_000);
createServer(listenerOf(app.fetch)).listen(Number(PORT), '127.0.0.1', () => console.log(`http://localhost:${PORT}`));
