import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createClient } from '../../client/client.ts';
import { memoryKeys } from '../../client/key-store.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { runJob } from '../jobs/run-job.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { askSandbox, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { serveWebhookReceiver } from '../webhooks/webhook-receiver.ts';
import { type Charges, chargedAmounts } from './deployed-charges.ts';
import { begin, endProcesses } from './killed-processes.ts';

let aws: LocalAws;
let folder: string;
beforeEach(async () => {
  aws = localAws();
  folder = bundleFolder('killed');
});
afterEach(async () => {
  await endProcesses();
  await rm(folder, { recursive: true, force: true });
});

describe('a process that is killed at random times and restarted', () => {
  const OPERATIONS = whole(200, { slice: 10 });
  const MAX_LIVES = 20 * OPERATIONS;
  /** No other test uses this or the following amounts. */
  const FIRST_AMOUNT = 73_000_000;

  test('charges once for each of its operations', async () => {
    const fromSeconds = Math.floor(Date.now() / 1000) - 1;
    const variables = {
      API_URL: aws.apiUrl,
      API_KEY: aws.apiKey,
      KEYS: join(folder, 'keys'),
      RUN: crypto.randomUUID(),
      COUNT: String(OPERATIONS),
      FIRST_AMOUNT: String(FIRST_AMOUNT),
    };
    const done = new Set<string>();
    let lives = 0;
    // It grows after each run that completes no new operation.
    let longestMs = 200;
    for (let isFinished = false; !isFinished; ) {
      lives += 1;
      expect(lives).toBeLessThan(MAX_LIVES);
      const process = begin('paying-process.ts', variables);
      await process.says('begun');
      await Promise.race([process.exited, sleep(Math.random() * longestMs)]);
      process.kill();
      const end = await process.exited;
      isFinished = end['code'] === 0;
      if (!isFinished) expect(end).toEqual({ code: null, signal: 'SIGKILL' });
      const before = done.size;
      for (const line of process.said.filter((each) => each.startsWith('done '))) done.add(line);
      if (done.size === before) longestMs *= 1.3;
    }
    const ours = (await chargedAmounts(fromSeconds)).map((amount) => amount - FIRST_AMOUNT);
    const operations = Array.from({ length: OPERATIONS }, (_, each) => each);
    expect(ours.filter((each) => each in operations).toSorted((one, other) => one - other)).toEqual(operations);
    // In all runs, each operation received the same payment.
    expect(done.size).toBe(OPERATIONS);
    expect(lives).toBeGreaterThan(1);
  });
});

describe('the example shop', () => {
  const client = () => createClient({ url: aws.apiUrl, apiKey: aws.apiKey, keys: memoryKeys() });

  async function open(webhookSecrets: string, diesAt = -1) {
    const process = begin('shop-process.ts', {
      DATABASE: join(folder, 'shop.db'),
      PAYONCE_URL: aws.apiUrl,
      PAYONCE_KEY: aws.apiKey,
      WEBHOOK_SECRETS: webhookSecrets,
      DIES_AT: String(diesAt),
    });
    const url = `http://127.0.0.1:${await process.says('listening')}`;
    return {
      ...process,
      url,
      buy: (id: string, sku = 'sku_tea', source = 'tok_ok') =>
        fetch(`${url}/purchases/${id}`, { method: 'POST', body: new URLSearchParams({ sku, source }) }),
      page: async (id: string) => (await fetch(`${url}/purchases/${id}`)).text(),
    };
  }

  test('charges a purchase once even if the shop is killed at any step and the form is resubmitted', async () => {
    const purchases: string[] = [];
    let shop = await open('whsec_AAAA', 0);
    for (let step = 0; ; step += 1) {
      const id: string = crypto.randomUUID();
      const answer = await shop.buy(id).catch(() => undefined);
      if (answer !== undefined) {
        expect(await shop.page(id)).toContain('<b>paid</b>');
        // The eight steps are before and after each of four actions, which store the row, store the key, send the
        // request and store the response.
        expect(step).toBe(8);
        break;
      }
      await shop.exited;
      purchases.push(id);
      // In the next purchase, the shop is killed one step later.
      shop = await open('whsec_AAAA', step + 1);
      if (step === 0) expect((await fetch(`${shop.url}/purchases/${id}`)).status).toBe(404);
      else expect(await shop.page(id)).toContain('<b>paid</b>');
    }
    shop = await open('whsec_AAAA');
    for (const id of purchases) {
      expect((await shop.buy(id)).status).toBe(200);
      expect(await shop.page(id)).toContain('<b>paid</b>');
    }
    const { DatabaseSync } = await import('node:sqlite');
    const rows = new DatabaseSync(join(folder, 'shop.db')).prepare('SELECT request, order_id FROM purchases').all();
    const keys = new Set(rows.map(({ request }) => (JSON.parse(String(request)) as { key: string }).key));
    expect([rows.length, keys.size]).toEqual([9, 9]);
    for (const { order_id: order } of rows) {
      const { payment } = await client().orders.retrieve(String(order));
      const { data } = (await (await askSandbox(`/charges?payment=${payment}`)).json()) as Charges;
      expect(data).toHaveLength(1);
    }
  });

  // The bank in this test decides after half a minute.
  whole(test, { slice: test.skip })(
    'shows a purchase as canceled after a webhook reports the cancellation',
    async () => {
      // The shop needs the endpoint's secret at its start, so its own address is unknown when the endpoint is created.
      await using receiver = await serveWebhookReceiver();
      const made = await client().webhookEndpoints.create(
        { url: receiver.url, events: ['order.completed', 'order.canceled'] },
        { operation: crypto.randomUUID() },
      );
      const shop = await open(`whsec_AAAA,${made.secret}`);
      const id = crypto.randomUUID();
      await shop.buy(id, 'sku_none', 'tok_async');
      expect(await shop.page(id)).toContain('<b>pending</b>');
      let passed = 0;
      const canceled = await until(async () => {
        await runJob(aws, 'resolve');
        for (const { headers, body } of receiver.arrivals.slice(passed)) {
          passed += 1;
          await fetch(`${shop.url}/webhooks`, { method: 'POST', headers: headers as Record<string, string>, body });
        }
        return (await shop.page(id)).includes('<b>canceled</b>') ? true : undefined;
      });
      expect(canceled).toBe(true);
      const forged = await fetch(`${shop.url}/webhooks`, { method: 'POST', body: '{}' });
      expect(forged.status).toBe(401);
      await client().webhookEndpoints.delete(made.id, { operation: crypto.randomUUID() });
    },
  );
});
