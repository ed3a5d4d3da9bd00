/**
 * Tests the guarantee "strict requests". Sends requests that no honest client sends: any route except the callback
 * route, with arbitrary body, headers, query and path.
 */
import { describe, expect, test } from '@jest/globals';
import { operations } from '../api-docs/described-api.ts';
import { fc } from '../support/properties.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { Api, OPERATOR_KEY } from '../world/api.ts';

/** The response to a refused request must not contain this marker. */
const CANARY = 'zqcanaryqz';
/** The tables of a simulated system must stay small. */
const PER_WORLD = 250;
const WORLDS = Array.from({ length: whole(400, { slice: 8 }) }, (_, world) => world * PER_WORLD);

/** Bodies that are valid at some route. */
const BODIES: readonly Readonly<Record<string, unknown>>[] = [
  { amount: 1_000, currency: 'EUR', source: 'tok_ok', metadata: { order: '7' }, description: 'Shirts' },
  { amount: 1_000, currency: 'EUR', source: 'tok_ok', capture: 'manual', reference: 'order-7' },
  {
    amount: 2_000,
    currency: 'EUR',
    source: 'tok_ok',
    items: [{ sku: 'sku_tea', quantity: 2 }],
    email: 'a@shop.example',
  },
  { amount: 300, reason: 'Returned' },
  { url: 'https://shop.co.uk/hooks', events: ['*'], description: 'Orders' },
  { created_from: 0, created_to: 86_400 },
  { overlap_seconds: 60 },
  { payment: `pay_${'a'.repeat(32)}`, reason: 'Twice', reverses: 2, dry_run: true },
  {},
];

/** Yields null except in one of `times` draws on average. */
const seldom = <Value>(times: number, arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });

const hostileText = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom(
      '<script>alert(1)</script>',
      '{"$gt":""}',
      "' OR 1=1 --",
      '../../etc/passwd',
      '%00%2e%2e%2f',
      '__proto__',
      'constructor',
      '${jndi:ldap://x}',
      '\u0000\ud800\u202e',
      'Bearer ',
      '\r\nSet-Cookie: a=b',
    ),
  )
  .map((text) => text + CANARY + text);
const hostile: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  hostileText.map((text) => text.repeat(200)),
  fc.constantFrom(null, true, -1, 0, 1e21, 0.1, Number.MAX_SAFE_INTEGER + 2, [], {}, [[[[]]]], ''),
  fc.dictionary(hostileText, hostileText, { maxKeys: 3 }),
  fc.array(hostileText, { maxLength: 3 }),
);

const body = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...BODIES).map((each) => JSON.stringify(each)) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(...BODIES), fc.nat(), seldom(3, hostileText), hostile)
      .map(([base, place, added, value]) => {
        const names = Object.keys(base);
        const name = added ?? names[place % Math.max(1, names.length)] ?? 'amount';
        return JSON.stringify({ ...base, [name]: value });
      }),
  },
  { weight: 1, arbitrary: fc.json({ maxDepth: 6 }) },
  { weight: 1, arbitrary: hostileText },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '{', '[]', 'null', '{"a":1,"a":2}', '['.repeat(5_000), 'x'.repeat(40_000)),
  },
);

const headers = fc.record(
  {
    'Idempotency-Key': fc.oneof({ weight: 4, arbitrary: fc.uuid() }, { weight: 1, arbitrary: hostileText }),
    'Content-Type': fc.oneof(
      { weight: 9, arbitrary: fc.constant('application/json') },
      { weight: 1, arbitrary: hostileText },
    ),
    Prefer: fc.oneof(fc.constant('wait=0'), hostileText),
    Accept: hostileText,
    'X-Forwarded-For': hostileText,
  },
  { requiredKeys: ['Idempotency-Key', 'Content-Type'] },
);

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.constant('known') },
  { weight: 1, arbitrary: hostileText.map((text) => encodeURIComponent(text.toWellFormed())) },
  { weight: 1, arbitrary: fc.constantFrom('pay_x', '%ZZ', '..', '%2F', 'a'.repeat(3_000)) },
);

const CREATIONS: ReadonlySet<string> = new Set(['createPayment', 'createOrder']);

const request = fc.record({
  operation: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(...operations.filter(({ operationId }) => operationId !== 'receiveCallback')),
    },
    // A slice would otherwise contain too few requests that are accepted.
    { weight: 2, arbitrary: fc.constantFrom(...operations.filter(({ operationId }) => CREATIONS.has(operationId))) },
  ),
  method: seldom(20, fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE')),
  piece,
  query: seldom(5, fc.tuple(hostileText, hostileText)),
  headers,
  body,
});

/** @param worlds the number of the first request to each system */
function* requestsOf(worlds: readonly number[]) {
  for (const first of worlds) {
    const drawn = fc.sample(request, { numRuns: PER_WORLD, seed: first });
    for (const [place, each] of drawn.entries()) yield { ...each, index: first + place };
  }
}

/** A declined payment (402) is stored, so it is not in this set. */
const STORES_NOTHING = new Set([400, 401, 403, 404, 405, 413, 415, 422]);

/** These rows count requests or record the last use of a key. */
const COUNTERS = /^"(?:LIMIT|KEY_USE)#/;

async function worldWithPayment() {
  const api = new Api();
  const id = await api.paid('k-known', { capture: 'manual' });
  const seen = { api, id, writes: 0 };
  api.store.database.listen((changes) => {
    seen.writes += changes.filter(
      ({ before, after }) => !COUNTERS.test(JSON.stringify((after ?? before)?.['pk'])),
    ).length;
  });
  return seen;
}

describe('100,000 hostile requests, or a slice of them', () => {
  test('cause no server error, and refused requests are neither stored nor echoed', async () => {
    const statuses = new Map<number, number>();
    let world = await worldWithPayment();
    for (const { index, ...each } of requestsOf(sliceOf(WORLDS, 2))) {
      if (index % PER_WORLD === 0) world = await worldWithPayment();
      const { api, id } = world;
      const { operation, query } = each;
      const path = operation.path.replaceAll(/\{\w+\}/g, each.piece === 'known' ? id : each.piece);
      const key = path.startsWith('/v1/admin') ? { Authorization: `Bearer ${OPERATOR_KEY}` } : {};
      const { writes } = world;

      const reply = await api.ask(each.method ?? operation.method, path, {
        headers: { ...each.headers, ...key },
        event: {
          body: each.body,
          ...(query === null
            ? {}
            : { queryStringParameters: { [query[0]]: query[1] }, multiValueQueryStringParameters: null }),
        },
      });

      const described = `${index}: ${operation.method} ${path.slice(0, 80)} ${reply.status} ${reply.text.slice(0, 200)}`;
      statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1);
      if (reply.status >= 500 || api.faults.length > 0) throw new Error(`failed: ${described}`);
      if (!STORES_NOTHING.has(reply.status)) continue;
      if (world.writes !== writes) throw new Error(`stored by a refusal: ${described}`);
      // `param` and the detail repeat the name of the invalid field unless the name is sensitive.
      const { param = '', detail = '', ...rest } = reply.body;
      const shown = String(detail).replace(String(param), '');
      if (JSON.stringify([rest, shown, reply.headers]).includes(CANARY)) throw new Error(`reflected: ${described}`);
    }
    // Some requests pass all checks, and the refused ones fail at different checks.
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 201, 400, 404, 405, 415]));
  }, 3_600_000);
});
