/** Tests the guarantee "fair limits". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { standardTelemetry } from '../../lambdas/kernel/platform/telemetry.ts';
import { TenantLimits } from '../../lambdas/tenants/limits.ts';
import { DynamoDbLimits } from '../../lambdas/tenants/store/dynamodb-limits.ts';
import { Api } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const LIMIT = { rate: 10, burst: 20 };
const OTHER = 'sk_test_zyxwvutsrqponmlkjihgfe';
const asOther = { headers: { Authorization: `Bearer ${OTHER}` } };

let api: Api;

beforeEach(() => {
  const world = new World();
  const store = new DynamoDbLimits(world.store.database.client, TABLES.registry, LIMIT);
  api = new Api({ limits: new TenantLimits(store, world.clock) }, world);
  api.registerKey(OTHER, { tenantId: tenantId('ten_other') });
});

async function flood(requests: number): Promise<void> {
  for (let request = 0; request < requests; request += 1) await api.pay(`flood-${request}`);
}

describe('a tenant beyond its limit', () => {
  test('gets a 429 before anything is claimed, charged or stored, and can retry with the same key', async () => {
    await flood(LIMIT.burst);
    const before = JSON.stringify(api.store.rows.items(TABLES.ledger));

    const refused = await api.pay('k-refused', { reference: 'order-1' });

    expect(refused).toMatchObject({
      status: 429,
      body: { code: 'rate_limited' },
      headers: { 'Retry-After': '1', Ratelimit: '"payments";r=0;t=1', 'Ratelimit-Policy': '"payments";q=20;w=2' },
    });
    expect(JSON.stringify(api.store.rows.items(TABLES.ledger))).toBe(before);
    expect(api.store.rows.items(TABLES.idempotency)).toHaveLength(LIMIT.burst);
    expect(api.reports.at(-1)).toMatchObject({ report: { outcome: 'rate_limited' }, counts: ['rate_limited'] });

    api.clock.advance(1_000);
    expect((await api.pay('k-refused', { reference: 'order-1' })).status).toBe(201);
  });

  test('can still read, and other tenants can pay', async () => {
    await flood(LIMIT.burst + 5);

    expect((await api.pay('k-1')).status).toBe(429);
    expect((await api.get('/v1/payments/pay_x')).status).toBe(404);
    expect((await api.pay('k-1', {}, asOther)).status).toBe(201);
  });

  test("is counted in one metric for the alarm, and in one with the tenant's id", async () => {
    const written: string[] = [];
    const metrics: (typeof systemInstruments)['metrics'] = (service) => ({
      addMetric: () => undefined,
      publishStoredMetrics: () => undefined,
      singleMetric: () => {
        const dimensions = [service];
        return {
          addDimension: (name, value) => dimensions.push(`${name}=${value}`),
          addMetric: (name) => written.push(`${name} ${dimensions.join(' ')}`),
        };
      },
    });
    const logger = () => ({ info: () => undefined, warn: () => undefined, error: () => undefined });
    await flood(LIMIT.burst);
    const counted = api.with({ telemetry: standardTelemetry('payments', { logger, metrics }) });

    expect((await counted.pay('k-1')).status).toBe(429);

    expect(written).toEqual(['tenant_limited limits', 'tenant_limited limits tenant=ten_desk']);
  });

  test('gets 429 for administrative requests after a tenth of the limit', async () => {
    expect((await api.create('k-1')).status).toBe(201);
    expect((await api.create('k-2')).status).toBe(201);
    const refused = await api.create('k-3');
    expect(refused).toMatchObject({ status: 429, headers: { 'Ratelimit-Policy': '"admin";q=2;w=2' } });
  });

  test('gets 429 for reads that query the processor after a tenth of the limit, and can still make other reads', async () => {
    let looks = 0;
    const readCharge = async () => {
      looks += 1;
      return undefined;
    };
    const other = api.with({ books: [{ ...api.processor, readCharge }] });
    const asked: number[] = [];
    for (let read = 0; read < LIMIT.burst; read += 1) {
      asked.push((await other.get(`/v1/payments?charge_id=ch_${read}`)).status);
    }
    expect(asked.filter((status) => status !== 429)).toEqual([200, 200]);
    expect(looks).toBe(2);
    expect((await other.get('/v1/payments?charge_id=ch_x')).headers).toMatchObject({
      'Ratelimit-Policy': '"processor_reads";q=2;w=2',
    });
    expect((await other.get('/v1/payments?reference=order-1')).status).toBe(200);
  });
});

test('requests with an invalid key do not count towards a tenant’s limit', async () => {
  const wrong = { headers: { Authorization: 'Bearer sk_test_unknownunknownunknown' } };
  for (let request = 0; request < LIMIT.burst * 2; request += 1)
    expect((await api.pay('k-1', {}, wrong)).status).toBe(401);
  expect((await api.pay('k-1')).status).toBe(201);
});

test('if the limits cannot be read, a request is admitted and the fault is logged', async () => {
  const away = async () => Promise.reject(new RetryableError('limits_unavailable', 'away'));
  const other = api.with({ limits: { admit: away, enterWait: away } });
  expect((await other.pay('k-1')).status).toBe(201);
  expect(other.faults).toHaveLength(1);
});

test('a request that finds no free waiting slot gets an immediate response, without Preference-Applied', async () => {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const charge: Api['processor']['charge'] = async (...order) => {
    asked.resolve();
    await answered.promise;
    return api.processor.charge(...order);
  };
  const first = api.with({ processor: { ...api.processor, charge } }).pay('k-1');
  await asked.promise;
  const waits = { headers: { Prefer: 'wait=8' } };
  const full = api.with({
    limits: { admit: async () => ({ kind: 'admitted' }), enterWait: async () => undefined },
  });
  const atMs = api.clock.nowMs();

  const refused = await full.pay('k-1', {}, waits);

  expect(refused).toMatchObject({ status: 409, body: { code: 'idempotency_key_in_progress' } });
  expect(refused.headers).not.toHaveProperty('Preference-Applied');
  expect(api.clock.nowMs()).toBe(atMs);
  expect((await api.pay('k-1', {}, waits)).headers).toMatchObject({ 'Preference-Applied': 'wait=8' });
  answered.resolve();
  expect((await first).status).toBe(201);
});
