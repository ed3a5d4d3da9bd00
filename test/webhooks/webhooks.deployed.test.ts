import { beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import type { LocalAws } from '../../local/local-aws.ts';
import { ApiClient } from '../support/api-client.ts';
import { localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { serveWebhookReceiver } from './webhook-receiver.ts';

let aws: LocalAws;
let api: ApiClient;
beforeAll(() => {
  aws = localAws();
  api = new ApiClient(aws, aws.apiKey);
});

const send = (method: string, path: string, key: string, body: Record<string, unknown> = {}) =>
  api.send(method, `/v1/webhook_endpoints${path}`, {
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });

describe('a merchant on the deployed stack', () => {
  test('receives a signed payment event, and receives it again after a resend and after a range replay', async () => {
    await using receiver = await serveWebhookReceiver();
    const run = `webhooks-${Date.now()}`;
    // Other tests pay for the same merchant concurrently, so this test marks its events.
    const ours = () => receiver.arrivals.filter(({ body }) => body.includes(run));
    receiver.respond = (response) => {
      const isOurFirst = ours().length === 1 && receiver.arrivals.at(-1)?.body.includes(run) === true;
      response.writeHead(isOurFirst ? 500 : 204).end();
    };
    const made = await send('POST', '', run, { url: receiver.url, events: ['payment.completed'] });
    const again = await send('POST', '', run, { url: receiver.url, events: ['payment.completed'] });
    expect([made.status, again.text]).toEqual([201, made.text]);
    const path = `/${String(made.json['id'])}`;
    const fromSeconds = Math.floor(Date.now() / 1000) - 60;
    const paid = await api.pay({ key: `${run}-pay`, body: { metadata: { run } } });
    expect(paid.status).toBe(201);

    const secret = new Webhook(String(made.json['secret']));
    const arrived = (count: number) => until(async () => ours()[count - 1]);
    const second = await arrived(2);
    secret.verify(second.body, second.headers as Record<string, string>);
    expect(JSON.parse(second.body)).toMatchObject({
      type: 'payment.completed',
      data: { object: { id: paid.json['id'], status: 'succeeded' } },
    });
    const delivery = await until(async () => {
      const { json } = await api.send('GET', `/v1/webhook_endpoints${path}/deliveries`);
      const all = (json['data'] ?? []) as { id: string; status: string; attempts: { status: number }[] }[];
      return all.find(({ status, attempts }) => status === 'delivered' && attempts.length > 1);
    });
    expect(delivery.attempts.map(({ status }) => status)).toEqual([500, 204]);

    expect((await send('POST', `${path}/deliveries/${delivery.id}/resend`, `${run}-again`)).status).toBe(202);
    await arrived(3);
    const untilSeconds = Math.floor(Date.now() / 1000) + 1;
    const replay = await send('POST', `${path}/replay`, `${run}-replay`, {
      created_from: fromSeconds,
      created_to: untilSeconds,
    });
    expect(replay.status).toBe(202);
    await arrived(4);
    expect(new Set(ours().map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect((await send('DELETE', path, `${run}-delete`)).status).toBe(200);
  });
});
