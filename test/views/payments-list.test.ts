import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { LedgerRow, RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { RegistryTable } from '../../lambdas/kernel/contract/tables.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { ViewRange } from '../../lambdas/views/use/view-store.ts';
import { API_KEY, Api, as, idsOf, LIVE_KEY, OTHER_KEY } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';
import { emailTools, hashesUnder } from './email-tools.ts';

const PATH = '/v1/payments';
const CREATED = Date.UTC(2026, 2, 1, 12) / 1000;

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

const listed = async (search = '') => idsOf(await harness.get(`${PATH}?${search}`));

/** Creates payments. @returns their ids, oldest first */
async function many(count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await harness.paid(`k-${index}`));
  return ids;
}

describe('the list of payments', () => {
  test('shows payments newest first, each with the same bytes as a read by id', async () => {
    const bodies = [
      { reference: 'order-1', metadata: { b: '2', a: '1', 10: 'x' }, description: 'Two “shirts”' },
      { capture: 'manual' },
      { source: 'tok_declined' },
      { source: 'tok_action' },
      { currency: 'JPY' },
    ];
    const ids: string[] = [];
    for (const [index, body] of bodies.entries()) ids.push(await harness.paid(`k-${index}`, body));
    await harness.change(`${ids[0]}/refunds`, 'r', { amount: 400 });
    await harness.change(`${ids[1]}/cancel`, 'c', {});

    const list = await harness.get(PATH);
    const shown = await Promise.all(ids.map(async (id) => (await harness.get(`${PATH}/${id}`)).text));

    expect(list.text).toBe(`{"object":"list","data":[${shown.toReversed().join(',')}],"has_more":false}`);
  });

  test('contains ten payments by default and up to a hundred on request, and reports whether there are more', async () => {
    const ids = (await many(12)).toReversed();
    const ten = await harness.get(PATH);
    const all = await harness.get(`${PATH}?limit=12`);

    expect([idsOf(ten), ten.body['has_more']]).toEqual([ids.slice(0, 10), true]);
    expect([idsOf(all), all.body['has_more']]).toEqual([ids, false]);
  });

  test('is paged in both directions without gaps or duplicates, even among payments of one second', async () => {
    for (let index = 0; index < 9; index += 1) {
      await harness.pay(`k-${index}`);
      if (index % 3 === 0) harness.clock.advance(1000);
    }
    const all = await listed('limit=100');
    const down: string[] = [];
    for (let hasMore = true; hasMore && down.length < 20; ) {
      const after = down.length === 0 ? '' : `&starting_after=${down.at(-1)}`;
      const page = await harness.get(`${PATH}?limit=2${after}`);
      down.push(...idsOf(page));
      hasMore = page.body['has_more'] === true;
    }
    const up: string[] = [];
    for (let hasMore = true; hasMore && up.length < 20; ) {
      const page = await harness.get(`${PATH}?limit=2&ending_before=${up[0] ?? all.at(-1)}`);
      up.unshift(...idsOf(page));
      hasMore = page.body['has_more'] === true;
    }

    expect(new Set(all).size).toBe(9);
    expect(down).toEqual(all);
    expect(up).toEqual(all.slice(0, -1));
  });

  test('can be filtered by status, reference and time, and reflects status changes', async () => {
    const held = await harness.paid('k-1', { capture: 'manual', reference: 'order-1' });
    const failed = await harness.paid('k-2', { source: 'tok_declined', reference: 'order-2' });
    const again = await harness.paid('k-3', { reference: 'order-2' });
    const last = await harness.paid('k-4');

    expect(await listed('status=requires_capture')).toEqual([held]);
    expect(await listed('status=succeeded')).toEqual([last, again]);
    expect(await listed('reference=order-2')).toEqual([again, failed]);
    expect(await listed('reference=order-2&status=failed')).toEqual([failed]);
    expect(await listed('reference=order-3')).toEqual([]);
    expect(await listed(`created_from=${CREATED + 1}&created_to=${CREATED + 3}`)).toEqual([again, failed]);
    expect(await listed(`created_from=${CREATED + 1}&status=succeeded`)).toEqual([last, again]);
    expect(await listed(`created_to=${CREATED}`)).toEqual([]);
    expect(await listed(`created_from=${CREATED + 3}&created_to=${CREATED + 1}`)).toEqual([]);

    await harness.change(`${held}/capture`, 'c', {});
    expect(await listed('status=requires_capture')).toEqual([]);
    expect(await listed('status=succeeded')).toEqual([last, again, held]);
    expect(await listed('reference=order-1')).toEqual([held]);
  });

  test('can be filtered by a charge id, whose payment is determined from the processor’s books', async () => {
    const [first, second] = [await harness.paid('k-1'), await harness.paid('k-2', { source: 'tok_declined' })];
    const chargeOf = (id: string) => harness.processor.charges(id)[0]?.chargeId;

    expect(await listed(`charge_id=${chargeOf(first)}`)).toEqual([first]);
    expect(await listed(`charge_id=${chargeOf(second)}`)).toEqual([second]);
    expect(await listed(`charge_id=${chargeOf(second)}&status=succeeded`)).toEqual([]);
    expect(await listed(`charge_id=${chargeOf(first)}&created_to=${CREATED}`)).toEqual([]);
    expect(await listed('charge_id=ch_none')).toEqual([]);
    harness.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
    expect(idsOf(await harness.get(`${PATH}?charge_id=${chargeOf(first)}`, as(OTHER_KEY)))).toEqual([]);
  });

  test('cannot be filtered by charge id while the processor is unavailable, and responds with 503', async () => {
    const down = {
      ...harness.processor,
      readCharge: () => Promise.reject(new RetryableError('processor_unreachable', 'down')),
    };
    const reply = await new Api({ books: [down] }).get(`${PATH}?charge_id=ch_1`);
    expect([reply.status, reply.body['code']]).toEqual([503, 'processor_unavailable']);
  });

  test('can be filtered by the requested amount within 31 days, together with a status or a reference', async () => {
    const ids: string[] = [];
    for (const [index, amount] of [700, 1000, 700, 900, 700].entries()) {
      const source = index === 2 ? 'tok_declined' : 'tok_ok';
      ids.push(await harness.paid(`k-${index}`, { amount, source, reference: `order-${index}` }));
    }
    const [first, , declined, , last] = ids;
    const range = `created_from=${CREATED}&created_to=${CREATED + 31 * 86_400}`;

    expect(await listed(`amount=700&${range}`)).toEqual([last, declined, first]);
    expect(await listed(`amount=700&status=succeeded&${range}`)).toEqual([last, first]);
    expect(await listed(`amount=700&${range}&limit=1&starting_after=${last}`)).toEqual([declined]);
    expect(await listed(`amount=701&${range}`)).toEqual([]);
    expect(await listed(`amount=700&reference=order-0&${range}`)).toEqual([first]);
    expect(await listed(`amount=700&reference=order-1&${range}`)).toEqual([]);
  });

  test('can be filtered by the complete receipt_email, but not by a part of it', async () => {
    const to = (receipt_email: string) => ({ metadata: { receipt_email } });
    const first = await harness.paid('k-1', to('Ada@example.com'));
    await harness.paid('k-2', to('grace@example.com'));
    await harness.paid('k-3');
    harness.clock.advance(400 * 86_400_000);
    const last = await harness.paid('k-4', { ...to('ada@example.com'), source: 'tok_declined', reference: 'order-4' });

    expect(await listed('email=ada@example.com')).toEqual([last, first]);
    expect(await listed('email=ADA@example.com&status=succeeded')).toEqual([first]);
    expect(await listed(`email=ada@example.com&starting_after=${last}`)).toEqual([first]);
    expect(await listed(`email=ada@example.com&ending_before=${first}`)).toEqual([last]);
    expect(await listed(`email=ada@example.com&created_to=${CREATED + 1}`)).toEqual([first]);
    expect(await listed('email=ada@example.com&reference=order-4')).toEqual([last]);
    expect(await listed('email=grace@example.com&reference=order-4')).toEqual([]);
    expect(await listed('email=a@example.com')).toEqual([]);
  });

  test('can be filtered by an address while a new and an old hash key are both in use', async () => {
    const current = { current: 'a-key-of-the-deployment-000000002' };
    const payOf = async (key: string, keys: Record<string, string>) => {
      const api = harness.with({ emailHashes: hashesUnder(keys) });
      return { api, reply: await api.pay(key, { metadata: { receipt_email: 'ada@example.com' } }) };
    };
    const { reply: older } = await payOf('k-1', { previous: 'a-key-of-the-deployment-000000001' });
    harness.clock.advance(1000);
    const both = { ...current, previous: 'a-key-of-the-deployment-000000001' };
    const { api, reply: newer } = await payOf('k-2', both);
    expect(idsOf(await api.get(`${PATH}?email=ada@example.com`))).toEqual([newer, older].map(({ body }) => body['id']));
    const { api: later } = await payOf('k-2', current);
    expect(idsOf(await later.get(`${PATH}?email=ada@example.com`))).toEqual([newer.body['id']]);
  });

  test('requires four queries for a page that is filtered by an address, and omits payments whose details were erased', async () => {
    const erased = await harness.paid('erased', { metadata: { receipt_email: 'ada@example.com' } });
    const others = await many(40);
    const ids: string[] = [];
    for (let index = 0; index < 12; index += 1)
      ids.push(
        await harness.paid(`ada-${index}`, { metadata: { receipt_email: 'ada@example.com', name: String(index) } }),
      );
    let queries = 0;
    const { emailIndex } = emailTools(harness.world.store);
    const counted = {
      range: (range: ViewRange) => {
        queries += 1;
        return emailIndex.range(range);
      },
    };
    const api = harness.with({ emailIndex: counted });
    const page = await api.get(`${PATH}?email=ada@example.com&limit=5`);
    expect([others.length, idsOf(page).length, page.body['has_more'], queries]).toEqual([40, 5, true, 4]);

    await harness.world.store.erase(erased);
    const left = idsOf(await api.get(`${PATH}?email=ada@example.com&limit=100`));
    expect(left.toSorted()).toEqual(ids.toSorted());
    const found = harness.world.store.database.items(TABLES.registry, RegistryRow.details);
    expect(found.filter((row) => RegistryTable.emailIndex.partitionKey in row)).toHaveLength(12);
  });

  test('cannot be filtered by an address while the hash keys are unreadable; a new payment with an address gets a 503', async () => {
    const away = { of: () => Promise.reject(new RetryableError('secrets_unavailable', 'down')) };
    const api = harness.with({ emailHashes: away });
    expect((await api.get(`${PATH}?email=ada@example.com`)).status).toBe(503);
    expect((await api.pay('k-1', { metadata: { receipt_email: 'ada@example.com' } })).status).toBe(503);
    expect([(await api.pay('k-2')).status, api.processor.inside.all.length]).toEqual([201, 1]);
  });

  test('can be filtered by a rare status: the first page contains the only match, and is the last page', async () => {
    const ids = await many(40);
    const rare = await harness.paid('rare', { capture: 'manual' });
    const page = await harness.get(`${PATH}?status=requires_capture&limit=5`);

    expect(ids).toHaveLength(40);
    expect([idsOf(page), page.body['has_more']]).toEqual([[rare], false]);
  });

  test.each([
    ['limit=0', 'limit', 'invalid_request'],
    ['limit=101', 'limit', 'invalid_request'],
    ['status=paid', 'status', 'invalid_request'],
    ['reference=', 'reference', 'invalid_request'],
    ['created_from=yesterday', 'created_from', 'invalid_request'],
    ['created_to=-1', 'created_to', 'invalid_request'],
    ['starting_after=', 'starting_after', 'invalid_request'],
    [`starting_after=pay_${'a'.repeat(32)}&ending_before=pay_${'b'.repeat(32)}`, 'ending_before', 'invalid_request'],
    ['amount=700', 'amount', 'invalid_request'],
    [`amount=700&created_from=0&created_to=${31 * 86_400 + 1}`, 'amount', 'invalid_request'],
    ['amount=0&created_from=0&created_to=1', 'amount', 'invalid_request'],
    ['email=ada', 'email', 'invalid_request'],
    ['charge_id=a%20b', 'charge_id', 'invalid_request'],
    ['charge_id=ch_1&reference=x', 'charge_id', 'invalid_request'],
    ['customer=x', 'customer', 'unknown_parameter'],
  ])('is refused for %s with an error that names %s', async (search, param, code) => {
    const reply = await harness.get(`${PATH}?${search}`);

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ code, param });
  });
});

test('a repeated payment request with an address gets its stored response, even while the hash keys are unreadable', async () => {
  const away = { of: () => Promise.reject(new RetryableError('secrets_unavailable', 'down')) };
  const body = { metadata: { receipt_email: 'ada@example.com' } };
  const first = await harness.pay('k-1', body);
  const again = await harness.with({ emailHashes: away }).pay('k-1', body);
  expect([again.status, again.body]).toEqual([201, first.body]);
});

test.each(['', 'email=ada%40example.com', `amount=1000&created_from=${CREATED}&created_to=${CREATED + 3_600}`])(
  'a list with the filters "%s" contains exactly the remaining payments after a restore lost some',
  async (search) => {
    const metadata = { receipt_email: 'ada@example.com' };
    const ids: string[] = [];
    for (let index = 0; index < 8; index += 1)
      ids.unshift(await harness.paid(`k-${index}`, { amount: 1000, metadata }));
    await listed();
    const { client } = harness.store.database;
    for (const id of ids.slice(0, 6)) {
      for (const { pk, sk } of harness.store.database.items(TABLES.ledger, `${LedgerRow.payment}${id}`))
        await client.send(new DeleteCommand({ TableName: TABLES.ledger, Key: { pk, sk } }));
    }

    const found: string[] = [];
    let cursor = '';
    for (let pages = 0; pages < 10; pages += 1) {
      const page = await harness.get(`${PATH}?limit=1&${search}${cursor}`);
      expect(page.status).toBe(200);
      found.push(...idsOf(page));
      if (page.body['has_more'] !== true) break;
      cursor = `&starting_after=${String(page.body['next_cursor'])}`;
    }
    expect(found).toEqual(ids.slice(6));
  },
);

describe('the payments of a tenant in test mode', () => {
  test.each([
    ['another tenant', OTHER_KEY, { tenantId: tenantId('ten_other') }],
    ['the same tenant in live mode', LIVE_KEY, { mode: 'live' as const }],
  ])(
    'are not visible to %s by filter or by cursor, and the response does not show whether they exist',
    async (_who, key, record) => {
      harness.registerKey(key, record);
      const theirs = await harness.paid('k-1', { reference: 'order-1' });
      const unknown = `pay_${'a'.repeat(32)}`;

      for (const search of ['', '?status=succeeded', '?reference=order-1']) {
        const reply = await harness.get(`${PATH}${search}`, as(key));
        expect(reply.body).toEqual({ object: 'list', data: [], has_more: false });
      }
      for (const param of ['starting_after', 'ending_before']) {
        const read = async (id: string) => {
          const { status, body } = await harness.get(`${PATH}?${param}=${id}`, as(key));
          const { request_id: _, ...rest } = body;
          return { status, ...rest };
        };
        expect(await read(theirs)).toMatchObject({ status: 400, code: 'invalid_request', param });
        expect(await read(theirs)).toEqual(await read(unknown));
        expect(await read(theirs)).toEqual(await read('none'));
      }
      expect((await harness.get(`${PATH}?starting_after=${theirs}`, as(API_KEY))).status).toBe(200);
    },
  );
});
