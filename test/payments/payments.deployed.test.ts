/** Tests the guarantee "one charge". */
import { beforeAll, describe, expect, test } from '@jest/globals';
import pMap from 'p-map';
import { ALL_SCOPES, Scopes } from '../../lambdas/kernel/contract/api.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { idOfApiKey, TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { operations } from '../api-docs/described-api.ts';
import { ApiClient } from '../support/api-client.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { expectedPaymentId } from './expected-payment-id.ts';
import { type KilledPayment, killedPayment } from './killed-payment.ts';

let aws: LocalAws;
let api: ApiClient;
beforeAll(async () => {
  aws = localAws();
  api = new ApiClient(aws, aws.apiKey);
  crashed = await killedPayment(aws, { source: 'tok_timeout_charged' });
});

/** A payment whose process crashes before the tests start. The lease of its claim expires while the tests run. */
let crashed: KilledPayment;

const paymentIdOf = (key: string): string => expectedPaymentId(aws.tenantId, key);

const untilCharged = (paymentId: string) =>
  until(async () => ((await api.charges(paymentId)).length > 0 ? true : undefined));

describe('the deployed API', () => {
  test('creates a payment, replays it byte for byte, and refuses a different body', async () => {
    const first = await api.pay({ key: 'e2e-first' });
    expect([first.status, first.json['status']]).toEqual([201, 'succeeded']);
    expect(first.headers.get('request-id')).toBeTruthy();

    const replay = await api.pay({ key: '"e2e-first"' });
    expect([replay.status, replay.text]).toEqual([201, first.text]);
    expect(replay.headers.get('idempotency-replayed')).toBe('true');
    expect(first.headers.get('idempotency-replayed')).toBeNull();

    const changed = await api.pay({ key: 'e2e-first', body: { amount: 1001 } });
    expect([changed.status, changed.json['code']]).toEqual([422, 'idempotency_key_payload_mismatch']);
    const keyless = await api.pay({});
    expect([keyless.status, keyless.json['code']]).toEqual([400, 'missing_idempotency_key']);

    expect(await api.charges(first.json['id'])).toHaveLength(1);
    const read = await api.send('GET', `/v1/payments/${String(first.json['id'])}`);
    expect([read.status, read.json]).toEqual([200, first.json]);
    const transitions = await api.send('GET', `/v1/payments/${String(first.json['id'])}/transitions`);
    expect(transitions.json['data']).toMatchObject([
      { sequence: 1, type: 'payment.created', postings: [] },
      {
        sequence: 2,
        type: 'payment.completed',
        postings: [
          { account: 'processor_clearing', direction: 'debit', amount: 1000, currency: 'EUR' },
          { account: 'merchant_payable', direction: 'credit', amount: 1000, currency: 'EUR' },
        ],
      },
    ]);
  });

  test('returns 409 for a concurrent duplicate, or the response of the first request if the duplicate waits', async () => {
    const { slow, first, rival } = await until(rivalsAtOnce);
    expect([rival.status, rival.json['code']]).toEqual([409, 'idempotency_key_in_progress']);
    expect(Number(rival.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    const patient = await api.pay({ ...slow, headers: { prefer: 'wait=8' } });
    expect([patient.status, patient.text]).toEqual([201, (await first).text]);
    expect(await api.charges(paymentIdOf(slow.key))).toHaveLength(1);
  });

  /** Returns undefined if the first request completed before the second arrived, which can happen on a slow machine. */
  async function rivalsAtOnce() {
    const slow = { key: `e2e-slow-${crypto.randomUUID()}`, body: { source: 'tok_slow' } };
    const first = api.pay(slow);
    await untilCharged(paymentIdOf(slow.key));
    const rival = await api.pay(slow);
    if (rival.status !== 201) return { slow, first, rival };
    expect(rival.text).toBe((await first).text);
    return undefined;
  }

  test('charges once for fifty duplicates, eight at a time, and gives all of them the same response', async () => {
    // Each concurrent request has its own process on the local AWS. More concurrent requests would only delay the
    // processor's response.
    const answers = await pMap(Array.from({ length: 50 }), () => api.payUntilAnswered({ key: 'e2e-fifty' }), {
      concurrency: 8,
    });
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(201);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1);
    expect(await api.charges(answers[0]?.json['id'])).toHaveLength(1);
  });

  test.each([
    ['tok_timeout_charged', 201],
    ['tok_timeout_not_charged', 201],
    ['tok_flaky', 201],
    ['tok_malformed', 201],
    ['tok_declined', 402],
  ])('determines the outcome of a payment with the source %s within the request', async (source, status) => {
    const answer = await api.pay({ key: `e2e-${source}`, body: { source } });
    expect(answer.status).toBe(status);
    expect(await api.charges(paymentIdOf(`e2e-${source}`))).toHaveLength(1);
  });

  test('returns 503 with Retry-After while the processor is busy, and accepts a later retry with the same key', async () => {
    const post = { key: 'e2e-busy', body: { source: 'tok_rate_limited' } };
    const busy = await api.pay(post);
    expect([busy.status, busy.json['code']]).toEqual([503, 'processor_unavailable']);
    expect((await api.payUntilAnswered(post)).status).toBe(201);
    expect(await api.charges(paymentIdOf(post.key))).toHaveLength(1);
  });

  test('finds the charge of a process that crashed between charge and commit, and creates no second charge', async () => {
    const answer = await api.payUntilAnswered(crashed);
    expect([answer.status, answer.json['status']]).toEqual([201, 'succeeded']);
    const charges = await api.charges(crashed.id);
    expect(charges).toHaveLength(1);
    expect(answer.json['processor']).toMatchObject({ charge_id: charges[0]?.['id'] });
    expect((await api.pay(crashed)).text).toBe(answer.text);
  });
});

describe('the Location of a response', () => {
  const order = { amount: 2_000, currency: 'EUR', source: 'tok_ok', email: 'location@example.com' };
  const payment = { amount: 1_000, currency: 'EUR', source: 'tok_ok', capture: 'manual' };
  /** In the order of the requests. `{id}` is the id of the newest payment. */
  const located: readonly (readonly [operation: string, path: string, body: object])[] = [
    ['createPayment', '/v1/payments', payment],
    ['capturePayment', '/v1/payments/{id}/capture', { amount: 600 }],
    ['createRefund', '/v1/payments/{id}/refunds', { amount: 100 }],
    ['createPayment', '/v1/payments', payment],
    ['cancelPayment', '/v1/payments/{id}/cancel', {}],
    ['createPayment', '/v1/payments', payment],
    ['captureForTenant', '/v1/admin/payments/{id}/capture', { amount: 600, reason: 'Asked by phone' }],
    ['refundForTenant', '/v1/admin/payments/{id}/refunds', { amount: 100, reason: 'Asked by phone' }],
    ['createPayment', '/v1/payments', payment],
    ['cancelForTenant', '/v1/admin/payments/{id}/cancel', { reason: 'Asked by phone' }],
    ['createOrder', '/v1/orders', { ...order, items: [{ sku: 'sku_tea', quantity: 1 }] }],
    ['createWebhookEndpoint', '/v1/webhook_endpoints', { url: 'http://127.0.0.1:9/', events: ['order.canceled'] }],
    ['startJobRun', '/v1/admin/jobs/reconcile-recent/runs', {}],
  ];

  test('leads to the created or changed object for every operation that returns a Location', async () => {
    const described = operations.filter(({ responses }) =>
      Object.values(responses).some(({ headers }) => 'Location' in headers),
    );
    expect(new Set(located.map(([operation]) => operation))).toEqual(
      new Set(described.map(({ operationId }) => operationId)),
    );

    let newest = '';
    const clientFor = (path: string) =>
      new ApiClient(aws, path.startsWith('/v1/admin/') ? aws.operatorKey : aws.apiKey);
    for (const [operation, path, body] of located) {
      const made = await clientFor(path).send('POST', path.replace('{id}', newest), {
        headers: { 'content-type': 'application/json', 'idempotency-key': crypto.randomUUID() },
        body: JSON.stringify(body),
      });
      const { id } = made.json;
      const client = clientFor(made.location ?? '');
      expect([operation, made.status < 300, made.json]).toEqual([operation, true, made.json]);
      const found = await client.send('GET', made.location ?? '');
      expect([operation, found.status, found.json['id']]).toEqual([operation, 200, id]);
      // On a slow machine, the outcome can still be unknown when the payment is created.
      const authorized = async () =>
        (await client.send('GET', made.location ?? '')).json['status'] === 'requires_capture' ? id : undefined;
      if (operation === 'createPayment') newest = String(await until(authorized));
      if (operation === 'createWebhookEndpoint') await client.send('DELETE', made.location ?? '');
    }
  });
});

describe('operators', () => {
  const post = (client: ApiClient, path: string, body: object, key: string = crypto.randomUUID()) =>
    client.send('POST', path, {
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
    });

  test('need a second operator for corrections of high amounts, and can create and roll API keys and list open work', async () => {
    const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'test');
    const ada = new ApiClient(aws, aws.operatorKey);
    const ben = new ApiClient(aws, await administration.createOperatorKey({ operator: 'Ben', role: 'approver' }));
    const paid = await api.payUntilAnswered({ key: 'approved', body: { amount: 6_000_000 } });
    const body = { payment: paid.json['id'], reason: 'Booked twice', reverses: 2 };
    const asked = await post(ada, '/v1/admin/corrections', body, 'ask');
    expect([asked.status, asked.json]).toMatchObject([202, { status: 'pending_approval', amount: 6_000_000 }]);
    expect((await post(ada, '/v1/admin/corrections', body, 'ask')).text).toBe(asked.text);
    const path = `/v1/admin/approvals/${String(asked.json['id'])}`;
    expect((await post(ada, `${path}/approve`, {})).json).toMatchObject({ code: 'own_approval' });
    const approvals = await Promise.all([1, 2, 3].map(() => post(ben, `${path}/approve`, {})));
    expect(approvals.map(({ text }) => text)).toEqual(Array(3).fill(approvals[0]?.text));
    expect(approvals[0]?.json).toMatchObject({ status: 'approved', decided_by: { operator: 'Ben' } });
    const corrections = await api.send('GET', `/v1/corrections?payment=${String(body.payment)}`);
    expect(corrections.json['data']).toMatchObject([{ operator: expect.any(String), reverses: 2 }]);
    const listed = await ben.send('GET', '/v1/admin/approvals?limit=1');
    expect(listed.json['data']).toEqual([approvals[0]?.json]);

    const tenant = await administration.createTenant('Keys');
    const made = await post(ada, '/v1/admin/keys', { tenant, mode: 'test', name: 'Shop', scopes: ['payments:read'] });
    const rolled = await post(ada, `/v1/admin/keys/${String(made.json['id'])}/roll`, { overlap_hours: 0 });
    const uses = [made, rolled].map(({ json }) =>
      new ApiClient(aws, String(json['secret'])).send('GET', '/v1/payments'),
    );
    expect((await Promise.all(uses)).map(({ status }) => status)).toEqual([401, 200]);
    const keys = await ada.send('GET', `/v1/admin/keys?tenant=${tenant}`);
    expect(keys.json['data']).toHaveLength(2);
    const queues = await ben.send('GET', '/v1/admin/queues');
    expect(queues.status).toBe(200);
    const ids = (queues.json['data'] as { readonly id: string }[]).map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(['claims', 'holds', 'Webhooks-Tasks-Queue', 'Vendors-DeadLetters']));
    for (const queue of ['claims', 'holds', 'unmatched_callbacks', 'Events-Parked', 'Vendors-DeadLetters'])
      expect((await ben.send('GET', `/v1/admin/queues/${queue}`)).status).toBe(200);
    const tenants = await ben.send('GET', '/v1/admin/tenants');
    expect(JSON.stringify(tenants.json)).toContain(tenant);
  });
});

describe('a tenant', () => {
  test('sees nothing of another tenant, and its idempotency keys are separate', async () => {
    const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'test');
    const other = await administration.createTenant('Other');
    const otherKey = await administration.createApiKey({
      name: 'Test',
      tenantId: other,
      mode: 'test',
      scopes: ALL_SCOPES,
    });
    const stranger = new ApiClient(aws, otherKey);

    const mine = await api.pay({ key: 'e2e-shared' });
    const path = `/v1/payments/${String(mine.json['id'])}`;
    for (const route of [path, `${path}/transitions`]) {
      const seen = await stranger.send('GET', route);
      const unknown = await stranger.send('GET', route.replace(/pay_.{8}/, 'pay_aaaaaaaa'));
      expect([seen.status, { ...seen.json, request_id: '' }]).toEqual([404, { ...unknown.json, request_id: '' }]);
    }
    const theirs = await stranger.pay({ key: 'e2e-shared' });
    expect(theirs.status).toBe(201);
    expect(theirs.json['id']).not.toBe(mine.json['id']);
  });

  test('gets no data with an unknown key, a revoked key or a key without the scope', async () => {
    const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'test');
    const owner = tenantId(aws.tenantId);
    const reader = await administration.createApiKey({
      name: 'Test',
      tenantId: owner,
      mode: 'test',
      scopes: [Scopes.paymentsRead],
    });
    const revoked = await administration.createApiKey({
      name: 'Test',
      tenantId: owner,
      mode: 'test',
      scopes: ALL_SCOPES,
    });
    expect(await administration.revokeKey(idOfApiKey(revoked))).toBe(true);

    const answerTo = async (key: string) => {
      const { status, json } = await new ApiClient(aws, key).pay({ key: 'e2e-stranger' });
      return { status, body: { ...json, request_id: '' } };
    };
    const unknown = await answerTo('sk_test_0123456789012345678901234567890123456789012');
    expect(unknown.status).toBe(401);
    expect(await answerTo(revoked)).toEqual(unknown);
    expect(await answerTo('nonsense')).toEqual(unknown);
    expect((await answerTo(reader)).status).toBe(403);
  });
});

describe('the API documents', () => {
  test('are served by the API’s own host, with all resources of their page', async () => {
    const page = await fetch(`${aws.apiUrl}/docs`);
    const html = await page.text();
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    const assets = [...html.matchAll(/(?:src|href)="([^":]+)"/g)].map(([, path = '']) => path);
    expect(assets.length).toBeGreaterThanOrEqual(2);
    for (const path of assets) {
      const asset = await fetch(new URL(path, `${aws.apiUrl}/docs`));
      expect([path, asset.status]).toEqual([path, 200]);
      expect((await asset.text()).length).toBeGreaterThan(0);
    }
    const document = (await (await fetch(`${aws.apiUrl}/v1/openapi.json`)).json()) as Record<string, unknown>;
    expect(document['openapi']).toMatch(/^3\.1/);
  });

  test('do not hide errors: an unknown path returns 404, and an unsupported method 405, with a problem document', async () => {
    const nowhere = await api.send('GET', '/v2/payments');
    expect([nowhere.status, nowhere.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
    const elsewhere = await api.send('DELETE', '/v1/payments');
    expect([elsewhere.status, elsewhere.json['code']]).toEqual([405, 'method_not_allowed']);
  });

  test('are compressed, and return 304 if the caller has cached them', async () => {
    const paths = ['/v1/openapi.json', '/docs', '/docs/start.js', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css'];
    const page = await (await fetch(`${aws.apiUrl}/console`)).text();
    const assets = [...page.matchAll(/"\.\/(assets\/[^"]+)"/g)].map(([, name = '']) => `/console/${name}`);
    expect(assets).toHaveLength(2);
    const sent = new Map<string, number>();
    for (const path of [...paths, '/console/', ...assets]) {
      const first = await fetch(`${aws.apiUrl}${path}`);
      const text = await first.text();
      expect([path, first.status, first.headers.get('content-encoding')]).toEqual([
        path,
        200,
        text.length < 8192 ? null : 'gzip',
      ]);
      sent.set(path, Number(first.headers.get('content-length')));
      const plain = await fetch(`${aws.apiUrl}${path}`, { headers: { 'accept-encoding': 'identity' } });
      expect([path, await plain.text()]).toEqual([path, text]);

      const known = { 'if-none-match': first.headers.get('etag') ?? '' };
      const again = await fetch(`${aws.apiUrl}${path}`, { headers: known });
      expect([path, again.status, await again.text()]).toEqual([path, 304, '']);
    }
    expect(sent.get('/v1/openapi.json')).toBeLessThan(74_000);
    expect([...sent.values()].reduce((sum, bytes) => sum + bytes)).toBeLessThan(576_000);
  });
});
