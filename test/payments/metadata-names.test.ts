import { describe, expect, test } from '@jest/globals';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import { SHOP, SimulatedIntake } from '../intake/intake-site.ts';
import { fc } from '../support/properties.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { Api } from '../world/api.ts';

/** Property names that JavaScript or a library looks up on objects. */
const INSPECTED = [
  ...Object.getOwnPropertyNames(Object.prototype).filter((name) => name !== '__proto__'),
  'prototype',
  'then',
  'toJSON',
  'length',
  'name',
  'size',
  'S',
  'M',
  'NULL',
  '$metadata',
  '0',
  ' x',
];
const TEXTS = ['x', 'Object', 'Map', 'Set', '{}', 'null'];

const metadata = fc.dictionary(fc.constantFrom(...INSPECTED), fc.constantFrom(...TEXTS), { maxKeys: 8 });
const EACH = [
  Object.fromEntries(INSPECTED.map((name) => [name, 'x'])),
  ...sliceOf(INSPECTED, 3).map((name) => ({ [name]: 'x' })),
];
const examples = EACH.map((each) => [each] as [Record<string, string>]);

const sorted = (of: object) =>
  Object.fromEntries(Object.entries(of).sort(([left], [right]) => (left < right ? -1 : 1)));

describe('metadata with keys that collide with JavaScript or SDK property names', () => {
  test('is stored and read back over HTTP, in the payment, its list and its event', async () => {
    const api = new Api();
    let keys = 0;
    await fc.assert(
      fc.asyncProperty(metadata, async (given) => {
        keys += 1;
        const paid = await api.pay(`k-${keys}`, { metadata: given });
        expect(paid.status).toBe(201);
        api.clock.advance(1000);
        const read = await api.get(`/v1/payments/${String(paid.body['id'])}`);
        const list = await api.get('/v1/payments?limit=1');
        const events = await api.get('/v1/events?limit=1');
        const text = `"metadata":${JSON.stringify(sorted(given))}`;
        for (const reply of [paid, read, list, events]) expect(reply.text).toContain(text);
      }),
      { examples, numRuns: whole(60, { slice: 15 }) },
    );
  });

  test('is stored and read back over every event transport', async () => {
    const site = new SimulatedIntake();
    const api = new Api({}, site.world);
    api.registerKey('sk_test_of_the_tenant_ten_shop', { tenantId: SHOP.tenantId });
    const headers = { Authorization: 'Bearer sk_test_of_the_tenant_ten_shop' };
    const deliveries = [
      async (sent: object) => site.deliver(site.onBus(sent)),
      async (sent: object) => site.deliver(site.inQueue(JSON.stringify(sent))),
      async (sent: object) => site.deliver(site.onSubject(JSON.stringify(sent))),
      async (sent: object) => site.process()(site.inTopic(JSON.stringify(sent))),
    ];
    let count = 0;
    await fc.assert(
      fc.asyncProperty(metadata, fc.constantFrom(...deliveries), async (given, deliver) => {
        count += 1;
        const event_id = `0b9c2f60-7d5a-4a7e-9a53-${String(count).padStart(12, '0')}`;
        await deliver(site.request({ event_id, metadata: given }));
        const { text } = await api.get(`/v1/payments/${site.paymentOf(event_id)}`, { headers });
        expect(text).toContain(`"metadata":${JSON.stringify(sorted(given))}`);
      }),
      { numRuns: whole(60, { slice: 20 }) },
    );
    expect(site.queues).toEqual({ requests: [], parked: [] });
  });
});

/** JSON.parse creates a property named `__proto__`, which libraries may turn into a prototype. */
describe('metadata with the name __proto__', () => {
  const NAMED = '{"__proto__":"x"}';

  test('is refused over HTTP, and no payment is created', async () => {
    const reply = await new Api().post(`{"amount":1000,"currency":"EUR","source":"tok_ok","metadata":${NAMED}}`);
    expect(reply).toMatchObject({
      status: 400,
      body: { code: 'invalid_json', detail: expect.stringContaining('__proto__') },
    });
  });

  test('causes its event to be parked on every transport', async () => {
    const site = new SimulatedIntake();
    const body = JSON.stringify({ ...site.request(), metadata: 0 }).replace('"metadata":0', `"metadata":${NAMED}`);
    await site.deliver([site.inQueue(body), site.onSubject(body), site.onBus(JSON.parse(body))]);
    await site.process()(site.inTopic(body));
    expect(site.queues.parked).toHaveLength(4);
    expect(site.queues.requests).toEqual([]);
    expect(parsePaymentId(site.paymentOf())).toBeDefined();
    expect(site.charged()).toBe(0);
  });
});
