/** Tests the guarantee "separate tenants". */
import { expect, test } from '@jest/globals';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { type ApiAnswer, ApiClient } from '../support/api-client.ts';
import { dynamoDbClient, localAws } from '../support/local-aws.ts';
import { fc } from '../support/properties.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { attacksOn, shownBy, type Victim } from './attacker.ts';

/** Minimum number of requests per run. `PAYONCE_ATTACK_MINUTES` sets the minimum duration of a run, in minutes. */
const REQUESTS = whole(3_000, { slice: 100 });
const MINUTES = Number(process.env['PAYONCE_ATTACK_MINUTES'] ?? 0);
/** Equals Jest's `testTimeout` in `npm test`, and only a test that hangs reaches it. */
const HANGS_AFTER_MS = 900_000;
const SEED = Number(process.env['PAYONCE_SEED'] ?? 1);
const AT_ONCE = 4;
const SECRET = 'Known only to the victim';

const READS = [
  '/v1/payments',
  '/v1/orders',
  '/v1/events',
  '/v1/webhook_endpoints',
  '/v1/ledger/entries',
  '/v1/balances',
  '/v1/disputes',
] as const;

async function tenantNamed(name: string) {
  const aws = localAws();
  const administration = new TenantAdministration(documentClient(dynamoDbClient()), aws.tables, 'test');
  const tenantId = await administration.createTenant(name);
  const apiKey = await administration.createApiKey({ name, tenantId, mode: 'test', scopes: ALL_SCOPES });
  return { tenantId, apiKey, api: new ApiClient(aws, apiKey) };
}

const postWith =
  (api: ApiClient) =>
  (path: string, key: string, body: object): Promise<ApiAnswer> =>
    api.send('POST', path, {
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
    });

/** `seen` has the data that the attacker knows and the tenant's secrets. `read` reads `READS` as the tenant. */
async function victim(): Promise<{ readonly seen: Victim; readonly read: () => Promise<readonly string[]> }> {
  const { tenantId, api } = await tenantNamed('Victim');
  const post = postWith(api);
  const email = 'ada@victim.example';
  const paid = await api.pay({ key: 'v-pay', body: { description: SECRET, reference: 'v-order-1' } });
  const id = String(paid.json['id']);
  const refund = await post(`/v1/payments/${id}/refunds`, 'v-refund', { amount: 100, reason: SECRET });
  const order = { amount: 900, currency: 'EUR', source: 'tok_ok', items: [{ sku: 'sku_tea', quantity: 1 }], email };
  const ordered = await post('/v1/orders', 'v-order', order);
  const endpoint = await post('/v1/webhook_endpoints', 'v-hook', {
    url: 'https://victim.example.com/hooks',
    events: ['webhook_endpoint.disabled'],
    description: SECRET,
  });
  const events = await until(async () => {
    const { json: list } = await api.send('GET', '/v1/events?limit=100');
    const found = list['data'] as { readonly id: string; readonly type: string }[];
    return found.some(({ type }) => type === 'order.completed') && found.some(({ type }) => type === 'refund.completed')
      ? found
      : undefined;
  });
  const read = () => Promise.all(READS.map(async (path) => (await api.send('GET', path)).text));
  const entries = JSON.parse((await read())[READS.indexOf('/v1/ledger/entries')] ?? '') as {
    readonly data: readonly { readonly id: string }[];
  };
  const ids = [refund, ordered, endpoint].map(({ json: made }) => String(made['id']));
  return {
    seen: {
      tenantId,
      known: [
        id,
        ...ids,
        ...events.map((event) => event.id),
        ...entries.data.map((entry) => entry.id),
        email,
        'v-order-1',
        'v-pay',
        'v-refund',
        'v-order',
        'v-hook',
      ],
      secrets: [SECRET, String(endpoint.json['secret'])],
    },
    read,
  };
}

test(
  'a tenant that knows all ids of another tenant can neither read nor change that tenant’s data, and causes no server error',
  async () => {
    const { seen, read } = await victim();
    const { api, apiKey } = await tenantNamed('Attacker');
    const hook = { url: 'https://attacker.example.com/hooks', events: ['*'] };
    const owned = [await api.pay({ key: 'a-pay' }), await postWith(api)('/v1/webhook_endpoints', 'a-hook', hook)];
    const own = owned.map(({ json }) => String(json['id']));
    const before = await until(async () => {
      const [one, other] = [await read(), await read()];
      return JSON.stringify(one) === JSON.stringify(other) ? one : undefined;
    });
    const endMs = Date.now() + MINUTES * 60_000;
    const statuses = new Map<number, number>();
    const found: string[] = [];
    for (let sent = 0; sent < REQUESTS || Date.now() < endMs; sent += AT_ONCE) {
      const attacks = fc.sample(attacksOn(seen, { apiKey, own }), { numRuns: AT_ONCE, seed: SEED + sent });
      const answers = await Promise.all(attacks.map(({ method, path, ...init }) => api.send(method, path, init)));
      for (const [index, answer] of answers.entries()) {
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        const shown = shownBy(answer, seen);
        if (shown !== undefined)
          found.push(`${SEED + sent}: ${attacks[index]?.method} ${attacks[index]?.path} ${shown}`);
      }
    }
    expect(found).toEqual([]);
    expect(await read()).toEqual(before);
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 401, 404]));
    // Each tenant has separate idempotency keys and references.
    expect((await api.pay({ key: 'v-pay', body: { reference: 'v-order-1' } })).status).toBe(201);
    if (MINUTES > 0) console.log(`${JSON.stringify(Object.fromEntries(statuses))} in ${MINUTES} minutes`);
  },
  HANGS_AFTER_MS + MINUTES * 60_000,
);
