import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetQueueAttributesCommand,
  ListQueuesCommand,
  SetQueueAttributesCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { ALL_SCOPES, StackName } from '../../lambdas/kernel/contract/api.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { ApiClient } from '../support/api-client.ts';
import { killWorker } from '../support/lambda-workers.ts';
import { askSandbox, CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { serveWebhookReceiver } from '../webhooks/webhook-receiver.ts';

const PAYMENTS = whole(1_000, { slice: 60 });
const AT_ONCE = 6;
const REFUND_EVERY = 20;
const KILL_EVERY_PAYMENTS = whole(25, { slice: 10 });
/** Visibility timeout of most queues, in seconds. The deployed timeouts of minutes would only lengthen the test. */
const BRING_AGAIN_SECONDS = '20';
/**
 * Visibility timeout of the webhook queues, in seconds. It exceeds the lease of a crashed attempt: a message
 * redelivered before the lease ends would be consumed without effect, and the sweep would retry only after minutes.
 */
const ATTEMPT_AGAIN_SECONDS = '61';

const aws = localAws();
const sqs = new SQSClient({ endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS });
/** In seconds, by queue URL. */
const asDeployed = new Map<string, string>();

beforeAll(async () => {
  const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({ QueueNamePrefix: StackName.service }));
  for (const QueueUrl of QueueUrls) {
    const { Attributes } = await sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['VisibilityTimeout'] }),
    );
    asDeployed.set(QueueUrl, Attributes?.['VisibilityTimeout'] ?? '30');
    await setVisibility(QueueUrl, /Webhook/.test(QueueUrl) ? ATTEMPT_AGAIN_SECONDS : BRING_AGAIN_SECONDS);
  }
});
afterAll(async () => {
  for (const [queue, seconds] of asDeployed) await setVisibility(queue, seconds);
});

const setVisibility = (QueueUrl: string, VisibilityTimeout: string) =>
  sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { VisibilityTimeout } }));

async function newMerchant(): Promise<ApiClient> {
  const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'test');
  const tenantId = await administration.createTenant('A thousand');
  return new ApiClient(
    aws,
    await administration.createApiKey({ name: 'Test', tenantId, mode: 'test', scopes: ALL_SCOPES }),
  );
}

type Listed = Record<string, unknown>;

async function listed(api: ApiClient, path: string): Promise<readonly Listed[]> {
  const all: Listed[] = [];
  for (let more = true; more; ) {
    const [after = ''] = all.slice(-1).map(({ id }) => `&starting_after=${String(id)}`);
    const { json } = await api.send('GET', `${path}?limit=100${after}`);
    all.push(...((json['data'] ?? []) as Listed[]));
    more = json['has_more'] === true;
  }
  return all;
}

async function chargesSince(fromSeconds: number): Promise<readonly Listed[]> {
  const all: Listed[] = [];
  const untilSeconds = Math.floor(Date.now() / 1000) + 1;
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = `created_from=${fromSeconds}&created_to=${untilSeconds}${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const answer = (await (await askSandbox(`/charges?${page}`)).json()) as {
      data: Listed[];
      next: string | null;
    };
    all.push(...answer.data);
    cursor = answer.next;
  }
  return all;
}

/** No seed can reproduce the kills, because their effect depends on the machine. */
async function payAll(api: ApiClient): Promise<{ readonly ids: readonly string[]; readonly killed: number }> {
  const ids: string[] = [];
  let begun = 0;
  let killed = 0;
  const client = async (): Promise<void> => {
    while (begun < PAYMENTS) {
      begun += 1;
      const number = begun;
      if (number % KILL_EVERY_PAYMENTS === 0 && killWorker(StackName.service, Math.random())) killed += 1;
      const { status, json } = await api.payUntilAnswered({ key: `thousand-${number}` });
      // On a slow machine, the outcome may become known only after the response.
      expect(['201 succeeded', '202 processing']).toContain(`${status} ${String(json['status'])}`);
      const id = String(json['id']);
      ids.push(id);
      if (number % REFUND_EVERY === 0) await refundUntilAnswered(api, id);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return { ids, killed };
}

async function refundUntilAnswered(api: ApiClient, id: string): Promise<void> {
  await until(async () =>
    (await api.send('GET', `/v1/payments/${id}`)).json['status'] === 'succeeded' ? true : undefined,
  );
  await until(async () => {
    const headers = { 'idempotency-key': `refund-${id}`, prefer: 'wait=8' };
    const { status } = await api.send('POST', `/v1/payments/${id}/refunds`, { headers });
    return status === 201 || status === 202 ? true : undefined;
  });
}

test('processor, Ledger, lists, events and webhooks agree on payments whose processes crash', async () => {
  await using receiver = await serveWebhookReceiver();
  const api = await newMerchant();
  const endpoint = await api.send('POST', '/v1/webhook_endpoints', {
    headers: { 'content-type': 'application/json', 'idempotency-key': 'thousand' },
    body: JSON.stringify({ url: receiver.url, events: ['*'] }),
  });
  expect(endpoint.status).toBe(201);
  const secret = new Webhook(String(endpoint.json['secret']));
  const verified = new Set<string>();
  receiver.respond = (response) => {
    // Verifies each webhook on arrival: a signature is valid for five minutes, and this test may take longer.
    const { body = '', headers = {} } = receiver.arrivals.at(-1) ?? {};
    secret.verify(body, headers as Record<string, string>);
    verified.add(String((JSON.parse(body) as Listed)['id']));
    response.writeHead(204).end();
  };
  const beganSeconds = Math.floor(Date.now() / 1000);

  const { ids, killed } = await payAll(api);
  const refunds = PAYMENTS / REFUND_EVERY;
  const paid = [...ids].sort();
  expect(new Set(ids).size).toBe(PAYMENTS);
  expect(killed).toBeGreaterThan(PAYMENTS / KILL_EVERY_PAYMENTS / 2);

  const mine = new Set(ids);
  const charges = (await chargesSince(beganSeconds)).filter(({ metadata }) => mine.has(paymentOf(metadata)));
  expect(charges.map(({ metadata }) => paymentOf(metadata)).sort()).toEqual(paid);

  const webhooks = () => new Map(receiver.arrivals.map((each) => [String(each.headers['webhook-id']), each]));
  const events = () => listed(api, '/v1/events');
  // Arrivals are counted before events are listed, because a list of a thousand events takes eleven requests, which
  // would slow down the remaining work.
  await untilAll(async () => [Math.min(webhooks().size, PAYMENTS + refunds)], [PAYMENTS + refunds]);
  await untilAll(async () => {
    const all = await events();
    const of = (type: string) => all.filter((event) => event['type'] === type).length;
    return [of('payment.completed'), of('refund.completed'), webhooks().size - all.length];
  }, [PAYMENTS, refunds, 0]);
  // The projector writes an event before the list rows of its payment. If it was killed in between, a retry writes the
  // list rows later, so wait for them.
  await untilAll(async () => [(await listed(api, '/v1/payments')).length], [PAYMENTS]);
  const payments = await listed(api, '/v1/payments');
  expect(payments.map(({ id }) => String(id)).sort()).toEqual(paid);
  expect(payments.filter(({ amount_refunded }) => amount_refunded === 1000)).toHaveLength(refunds);
  expect(await listed(api, '/v1/ledger/entries')).toHaveLength(2 * (PAYMENTS + refunds));
  const { json: balances } = await api.send('GET', '/v1/balances');
  expect((balances['data'] as Listed[]).map(({ account, balance }) => [account, balance])).toEqual([
    ['processor_clearing', (PAYMENTS - refunds) * 1000],
    ['merchant_payable', PAYMENTS * 1000],
    ['refunds', refunds * 1000],
  ]);

  const deliveredIds = [...webhooks().values()].map(({ body }) => String((JSON.parse(body) as Listed)['id'])).sort();
  expect(deliveredIds).toEqual((await events()).map(({ id }) => String(id)).sort());
  expect([...verified].sort()).toEqual(deliveredIds);
});

const paymentOf = (metadata: unknown): string => String((metadata as Listed | undefined)?.['payment']);

const POLL_INTERVAL_MS = 1_000;
const MAX_POLLS = 600;

/** Messages of a killed process are redelivered after the visibility timeout. */
async function untilAll(poll: () => Promise<readonly number[]>, wanted: readonly number[]): Promise<void> {
  let seen = await poll();
  for (let polls = 0; polls < MAX_POLLS && seen.join() !== wanted.join(); polls += 1) {
    await sleep(POLL_INTERVAL_MS);
    seen = await poll();
  }
  expect(seen).toEqual(wanted);
}
