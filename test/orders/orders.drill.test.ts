/** Tests the guarantee "settled or undone". */
import { setTimeout as sleep } from 'node:timers/promises';
import { paginateScan } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { LEASE_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import type { OrderId, PaymentId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { firstBrokenOrderLink } from '../../lambdas/orders/domain/order-transition.ts';
import { paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { DynamoDbOrders } from '../../lambdas/orders/store/dynamodb-orders.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { signalProcess } from '../../local/processes.ts';
import { runJob } from '../jobs/run-job.ts';
import { expectedOrderId } from '../payments/expected-payment-id.ts';
import { type ApiAnswer, ApiClient } from '../support/api-client.ts';
import { payonce } from '../support/command-line.ts';
import { workersOf } from '../support/lambda-workers.ts';
import { askSandbox, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

let aws: LocalAws;
let api: ApiClient;
/** Time from which the crashed order can be taken over, in Unix milliseconds. The other tests run before it. */
let leaseEndsAtMs: number;
/** The idempotency key of the order whose process crashed. */
let killed: string;
beforeAll(async () => {
  aws = localAws();
  api = new ApiClient(aws, aws.apiKey);
  killed = await crashAfterCharge();
  leaseEndsAtMs = Date.now() + (LEASE_SECONDS + 1) * 1_000;
});

const run = crypto.randomUUID().slice(0, 8);

/** Each order has its own recipient, so that its e-mails can be counted. */
function order(key: string, body: Readonly<Record<string, unknown>> = {}): Promise<ApiAnswer> {
  const tea = { amount: 2_000, currency: 'EUR', source: 'tok_ok', items: [{ sku: 'sku_tea', quantity: 2 }] };
  return api.send('POST', '/v1/orders', {
    headers: { 'content-type': 'application/json', 'idempotency-key': `${run}-${key}` },
    body: JSON.stringify({ ...tea, email: recipient(key), referrer: 'ref_friend', ...body }),
  });
}

const recipient = (key: string) => `${key}-${run}@example.com`;
const shown = async (id: unknown) => (await api.send('GET', `/v1/orders/${String(id)}`)).json;

async function listed(path: string): Promise<readonly Record<string, unknown>[]> {
  const answer = await askSandbox(path);
  return ((await answer.json()) as { data: Record<string, unknown>[] }).data;
}

/** The kept money is in minor units. */
async function counted(key: string, { id, payment }: Record<string, unknown>) {
  const mail = await askSandbox(`/messages/outbound?count=50&offset=0&recipient=${recipient(key)}`);
  const reservations = await listed(`/stock/reservations?order=${String(id)}`);
  const charges = (await api.charges(payment)).filter(({ status }) => status !== 'declined');
  return {
    charges: charges.length,
    kept: charges.reduce((sum, each) => sum + Number(each['amount_captured']) - Number(each['amount_refunded']), 0),
    reserved: reservations.filter(({ status }) => status === 'reserved').length,
    emails: ((await mail.json()) as { TotalCount: number }).TotalCount,
    credits: (await listed(`/referrals/credits?order=${String(id)}`)).length,
  };
}

/** An item whose first reservation request gets no response, so that the process waits. */
const SILENT_STOCK = { items: [{ sku: 'sku_timeout', quantity: 1 }] };

/**
 * Retries if the process responded before the kill, which can happen on a slow machine.
 * @returns the idempotency key of the order
 */
async function crashAfterCharge(): Promise<string> {
  let orders = 0;
  return until(async () => {
    orders += 1;
    const key = `killed-${orders}`;
    const dying = order(key, SILENT_STOCK);
    const payment = paymentOfOrder(systemDigest, expectedOrderId(aws.tenantId, `${run}-${key}`));
    await until(async () => ((await api.charges(payment)).length > 0 ? true : undefined));
    const pids = workersOf(aws.ordersFunction);
    expect(pids.length).toBeGreaterThan(0);
    for (const pid of pids) signalProcess(pid, 'SIGKILL');
    return (await dying).status >= 500 ? key : undefined;
  });
}

const resolve = () => runJob(aws, 'resolve');

const ONCE = { charges: 1, kept: 2_000, reserved: 1, emails: 1, credits: 1 };
const NOTHING_LEFT = { charges: 1, kept: 0, reserved: 0, emails: 0, credits: 0 };

describe('an order on the deployed stack', () => {
  test('is charged, reserved, confirmed and credited once, and replayed', async () => {
    const first = await order('kept');
    expect([first.status, first.json['status'], first.json['referral']]).toEqual([201, 'completed', 'credited']);
    const again = await order('kept');
    expect([again.text, again.headers.get('idempotency-replayed')]).toEqual([first.text, 'true']);
    expect(await shown(first.json['id'])).toEqual(first.json);
    expect(await counted('kept', first.json)).toEqual(ONCE);
  });

  test('is refunded if its goods are out of stock', async () => {
    const gone = await order('gone', { items: [{ sku: 'sku_none', quantity: 1 }] });
    expect([gone.status, gone.json['code']]).toEqual([409, 'out_of_stock']);
    expect(await counted('gone', gone.json['order'] as Record<string, unknown>)).toEqual(NOTHING_LEFT);
  });
});

describe('personal data', () => {
  const client = documentClient(dynamoDbClient());
  const pacing = { clock: systemClock, entropy: systemEntropy };

  async function inTables(text: string): Promise<readonly string[]> {
    const found = await Promise.all(
      Object.entries(aws.tables).map(async ([name, TableName]) => {
        for await (const { Items } of paginateScan({ client }, { TableName, ConsistentRead: true }))
          if (JSON.stringify(Items).includes(text)) return [name];
        return [];
      }),
    );
    return found.flat();
  }

  test('is erased from a payment and an order by command, while their chains and amounts remain', async () => {
    const name = `Ada ${run}`;
    const body = { description: `For ${name}`, metadata: { customer: name }, source: 'tok_ok' };
    const paid = await api.pay({ key: `${run}-erased`, body });
    const id = String(paid.json['id']);
    const refunded = await api.send('POST', `/v1/payments/${id}/refunds`, {
      headers: { 'content-type': 'application/json', 'idempotency-key': `${run}-erased` },
      body: JSON.stringify({ amount: 300, reason: `Returned by ${name}` }),
    });
    expect([paid.status, refunded.status]).toEqual([201, 201]);
    // Wait until the relay has published the refund's event. The relay reads the refund's reason for this event, and
    // the erasure removes the reason.
    await until(async () => {
      const { text } = await api.send('GET', '/v1/events?limit=100&type=refund.completed');
      return text.includes(`Returned by ${name}`) ? true : undefined;
    });
    const bought = await order('erased');
    expect(await inTables(name)).toEqual(['registry']);
    expect(await inTables(recipient('erased'))).toEqual(['registry']);
    const byEmail = async () => (await api.send('GET', `/v1/orders?email=${recipient('erased')}`)).json['data'];
    expect(await byEmail()).toMatchObject([{ id: bought.json['id'] }]);

    // The command refuses the erasure until the projector has processed payment.completed.
    await until(async () => {
      const { code } = await payonce(aws, '--operator', run, 'erase', 'payment', id);
      return code === 0 ? true : undefined;
    });
    for (const words of [
      ['payment', id],
      ['order', String(bought.json['id'])],
    ])
      expect(await payonce(aws, '--operator', run, 'erase', ...words)).toMatchObject({ code: 0 });

    expect(await inTables(name)).toEqual([]);
    expect(await inTables(recipient('erased'))).toEqual([]);
    expect(await byEmail()).toEqual([]);
    expect((await api.send('GET', `/v1/payments/${id}`)).json).toMatchObject({
      amount_captured: 1000,
      amount_refunded: 300,
      description: null,
      details_erased: true,
    });
    const store = new DynamoDbStore(client, aws.tables, pacing);
    const transitions = await store.listTransitions(id as PaymentId, { afterSequence: 0, limit: 100 });
    expect(firstBrokenLink(systemDigest, transitions)).toBeUndefined();
    const steps = await new DynamoDbOrders(client, aws.tables, pacing, store).listOrderTransitions(
      bought.json['id'] as OrderId,
      { afterSequence: 0, limit: 100 },
    );
    expect(steps.length).toBeGreaterThan(2);
    expect(firstBrokenOrderLink(systemDigest, steps)).toBeUndefined();

    const admin = new ApiClient(aws, aws.operatorKey);
    const timeline = await admin.send('GET', `/v1/admin/payments/${id}/timeline`);
    const kinds = (timeline.json['data'] as { kind: string }[]).map(({ kind }) => kind);
    expect(new Set(kinds)).toEqual(new Set(['claim', 'call', 'transition', 'answer', 'event', 'act']));
    const { json } = await admin.send('GET', `/v1/admin/activity?tenant=${aws.tenantId}&mode=test&limit=100`);
    const own = (json['data'] as Record<string, unknown>[]).filter((entry) => JSON.stringify(entry).includes(run));
    expect(own.map(({ action, about }) => [action, about])).toEqual([
      ['order.erased', [bought.json['id']]],
      ['payment.erased', [id]],
    ]);
    const verified = await payonce(aws, 'activity', 'verify');
    expect(verified).toMatchObject({
      code: 0,
      said: expect.stringMatching(new RegExp(`${aws.tenantId}#test +\\d+ +holds`)),
    });
    // A job function writes the entry `settings.seen` when it starts.
    await until(async () => {
      const newest = await payonce(aws, 'activity', 'list', '--most', '100');
      return /settings\.seen +start/.test(newest.said) ? true : undefined;
    });
  });
});

describe('an order whose process crashed after the charge', () => {
  test('is completed by a run of the resolver job, without a client retry', async () => {
    await sleep(Math.max(0, leaseEndsAtMs - Date.now()));
    await resolve();
    const replay = await until(async () => {
      const answer = await order(killed, SILENT_STOCK);
      return answer.status === 409 ? undefined : answer;
    });
    expect(replay.headers.get('idempotency-replayed')).toBe('true');
    // On a slow machine the stock service may respond too late for the first run, which then stores 202. A later run
    // completes the order.
    expect([201, 202]).toContain(replay.status);
    await until(async () => ((await shown(replay.json['id']))['status'] === 'completed' ? true : undefined));
    expect(await counted(killed, replay.json)).toEqual(ONCE);
  });
});
