import { createClient } from '../../client/client.ts';
import { fileKeys } from '../../client/file-keys.ts';
import { SYSTEM } from '../../client/surroundings.ts';
import { verifyWebhook } from '../../client/webhooks.ts';

/*
 * The first run is killed after the payment's response has arrived, but before the program stores it. The second run
 * prints its findings.
 */

const { API_URL = '', API_KEY = '', KEYS = '', WEBHOOK = '', DIES = '' } = process.env;
const client = createClient({
  url: API_URL,
  apiKey: API_KEY,
  keys: fileKeys(KEYS),
  surroundings: {
    fetch: async (url, init) => {
      const answer = await SYSTEM.fetch(url, init);
      if (DIES === 'yes') process.kill(process.pid, 'SIGKILL');
      return answer;
    },
  },
});

const tea = { amount: 1_000, currency: 'EUR', source: 'tok_ok' } as const;
const { id } = await client.payments.create(tea, { operation: 'order_42' });
const { status } = await client.payments.wait(id);
const ids: string[] = [];
for await (const each of client.payments.list({ limit: 1 })) ids.push(each.id);
const stopped = await client.payments
  .create(tea, { operation: 'order_43', signal: AbortSignal.abort(new Error('closed')) })
  .catch((error: unknown) => String(error));
const { body, headers, secrets } = JSON.parse(WEBHOOK) as Record<'body', string> &
  Record<'headers', Record<string, string>> &
  Record<'secrets', readonly string[]>;
const event = await verifyWebhook(body, headers, { secrets });
console.log(JSON.stringify({ node: process.versions.node, id, status, ids, stopped, event: event.id }));
