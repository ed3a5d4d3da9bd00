import { beforeEach, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { WebhookEndpoint } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { Api, dataOf, OPERATOR_KEY } from '../world/api.ts';

const OWNER = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
const PATH = '/v1/admin/attention?kind=webhook_endpoint';
const FOR_DESK = {
  headers: {
    Authorization: `Bearer ${OPERATOR_KEY}`,
    'Content-Type': 'application/json',
    'Payonce-Tenant': 'ten_desk/test',
  },
};

let api: Api;
let endpoint: string;
beforeEach(async () => {
  api = new Api();
  endpoint = String((await api.create('k')).body['id']);
});

async function become(state: Partial<WebhookEndpoint>): Promise<void> {
  const was = await api.store.webhooks.readBook(OWNER);
  const endpoints = was.endpoints.map((each) => (each.id === endpoint ? { ...each, ...state } : each));
  await api.store.webhooks.write({ book: { was, now: { ...was, revision: was.revision + 1, endpoints } } });
}

const listed = async () => dataOf(await api.get(PATH));
const setByOperator = (body: object) =>
  api.ask('PATCH', `/v1/webhook_endpoints/${endpoint}`, {
    ...FOR_DESK,
    event: { body: JSON.stringify(body) },
  });

test('a failing endpoint is listed as work for operators until it accepts a webhook', async () => {
  await api.create('works', { url: 'https://shop.co.uk/works' });
  expect(await listed()).toEqual([]);
  const sinceMs = api.clock.nowMs();
  await become({ failing: { sinceMs } });
  api.clock.advance(60_000);
  expect(await listed()).toMatchObject([
    { part: endpoint, tenant: 'ten_desk', mode: 'test', age: 60, act: 'repair_endpoint', about: null, queue: null },
  ]);
  const { failing: _, ...works } = (await api.store.webhooks.readBook(OWNER)).endpoints[0] as WebhookEndpoint;
  const was = await api.store.webhooks.readBook(OWNER);
  const endpoints = was.endpoints.with(0, works);
  await api.store.webhooks.write({ book: { was, now: { ...was, revision: was.revision + 1, endpoints } } });
  expect(await listed()).toEqual([]);
});

test.each(['gone', 'failing'] as const)(
  'an endpoint that Payonce disabled for the reason “%s” is listed until an operator decides to keep it disabled',
  async (reason) => {
    const atMs = api.clock.nowMs();
    await become({ disabled: { atMs, reason }, failing: { sinceMs: atMs - 1_000 } });
    expect(await listed()).toMatchObject([{ part: endpoint, since: atMs / 1_000, act: 'repair_endpoint' }]);
    const kept = await setByOperator({ enabled: false });
    expect(kept).toMatchObject({ status: 200, body: { enabled: false, disabled: { reason: 'requested' } } });
    expect(await listed()).toEqual([]);
    // After the operator enables the endpoint, it is listed again until it accepts a webhook.
    expect(await setByOperator({ enabled: true })).toMatchObject({
      status: 200,
      body: { enabled: true, disabled: null },
    });
    expect(await listed()).toMatchObject([{ part: endpoint }]);
    const log = dataOf(await api.get('/v1/admin/activity?tenant=ten_desk&mode=test'));
    expect(log.map(({ action, caused_by }) => [action, (caused_by as { type: string }).type])).toEqual([
      ['webhook_endpoint.updated', 'operator'],
      ['webhook_endpoint.updated', 'operator'],
      ['webhook_endpoint.created', 'request'],
    ]);
  },
);

test.each([{ url: 'https://evil.example/' }, { events: ['*'] }, { enabled: false, description: 'Mine' }])(
  'an operator cannot update a tenant’s endpoint with %j',
  async (body) => {
    const field = Object.keys(body).at(-1);
    const refused = await setByOperator(body);
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid_request', param: field } });
    expect(await api.get(`/v1/webhook_endpoints/${endpoint}`, FOR_DESK)).toMatchObject({ body: { enabled: true } });
  },
);
