import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { listenerOf } from '../../examples/listener.ts';
import { shop } from '../../examples/shop/shop.ts';

/*
 * The steps are before and after each database write and each request, counted from 0. The process prints `listening
 * <port>`, and `steps <number>` after each POST request.
 */

const { DATABASE = '', PAYONCE_URL = '', PAYONCE_KEY = '', WEBHOOK_SECRETS = '', DIES_AT = '-1' } = process.env;
let steps = 0;
/** Steps before the shop has resumed its stored purchases are not counted. */
let isCounting = false;

function step(): void {
  if (!isCounting) return;
  if (steps === Number(DIES_AT)) process.kill(process.pid, 'SIGKILL');
  steps += 1;
}

const send = globalThis.fetch;
globalThis.fetch = async (...request) => {
  step();
  const answer = await send(...request);
  step();
  return answer;
};

class SteppedDatabase extends DatabaseSync {
  override prepare(sql: string) {
    const statement = super.prepare(sql);
    const run = statement.run.bind(statement) as (...values: readonly unknown[]) => ReturnType<typeof statement.run>;
    statement.run = (...values: readonly unknown[]) => {
      step();
      const result = run(...values);
      step();
      return result;
    };
    return statement;
  }
}

const { app, resume } = shop({
  database: new SteppedDatabase(DATABASE),
  apiUrl: PAYONCE_URL,
  apiKey: PAYONCE_KEY,
  webhookSecrets: WEBHOOK_SECRETS.split(','),
});
await resume();
isCounting = true;
const listen = listenerOf(async (request) => {
  const answer = await app.fetch(request);
  if (request.method === 'POST') console.log(`steps ${steps}`);
  return answer;
});
const server = createServer(listen).listen(0, '127.0.0.1', () => {
  console.log(`listening ${(server.address() as AddressInfo).port}`);
});
