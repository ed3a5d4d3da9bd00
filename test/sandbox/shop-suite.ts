import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Books } from '../../sandbox/books.ts';
import type { SandboxAnswer } from './sandbox-calls.ts';
import { errorIn, sandboxHarness } from './sandbox-harness.ts';
import { createTestSandbox, SANDBOX_START_MS, type TestSandbox } from './sandbox-world.ts';

const SERVICES = [
  {
    service: 'stock',
    path: '/stock/reservations',
    body: (order: string, name = 'sku_tea') => ({ order, items: [{ sku: name, quantity: 2 }] }),
    /** A body that the API must refuse with the key of an earlier request. */
    other: (order: string) => ({ order, items: [{ sku: 'sku_tea', quantity: 3 }] }),
    made: { object: 'reservation', status: 'reserved' },
    timeout: 'sku_timeout',
    flaky: 'sku_flaky',
    refused: 'sku_none',
    refusal: [409, 'out_of_stock'],
  },
  {
    service: 'referral credits',
    path: '/referrals/credits',
    body: (order: string, name = 'ref_friend') => ({ order, referrer: name, amount: 500, currency: 'EUR' }),
    other: (order: string) => ({ order, referrer: 'ref_friend', amount: 501, currency: 'EUR' }),
    made: { object: 'credit' },
    timeout: 'ref_timeout',
    flaky: 'ref_flaky',
    refused: 'ref_nobody',
    refusal: [422, 'unknown_referrer'],
  },
] as const;

const idIn = (answer: SandboxAnswer) => (JSON.parse(answer.body) as { id: string }).id;

/** Each test uses its own orders and keys. */
export function describeShop(booksKind: string, createBooks: () => Promise<Books>): void {
  let sandbox: TestSandbox;
  let harness: ReturnType<typeof sandboxHarness>;
  let order: string;
  let key: string;

  beforeEach(async () => {
    sandbox = createTestSandbox(await createBooks());
    harness = sandboxHarness(sandbox.handler);
    order = `ord_${crypto.randomUUID()}`;
    key = `key_${crypto.randomUUID()}`;
  });

  const listed = async (path: string, of = order) =>
    (JSON.parse((await harness.get(path, { order: of })).body) as { data: object[] }).data;

  describe.each(SERVICES)(`the $service API (${booksKind} store):`, (of) => {
    const { path, body } = of;

    test('a request gets 201, and the created object is listed immediately', async () => {
      const answer = await harness.post(path, body(order), key);
      expect(answer.status).toBe(201);
      const made: unknown = JSON.parse(answer.body);
      expect(made).toEqual({
        id: expect.stringMatching(/^(rsv|crd)_/),
        ...of.made,
        ...body(order),
        created: SANDBOX_START_MS / 1_000,
      });
      expect(await listed(path)).toEqual([made]);
      expect(await listed(path, `${order}x`)).toEqual([]);
    });

    test('a repeated key gets the same response and creates no second object, even a year later', async () => {
      const first = await harness.post(path, body(order), key);
      sandbox.advance(365 * 24 * 60 * 60 * 1_000);
      expect(await harness.post(path, body(order), key)).toEqual(first);
      expect(await listed(path)).toHaveLength(1);
    });

    test('ten concurrent requests with one key create one object, and all get the same response', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => harness.post(path, body(order), key)));
      expect(new Set(answers.map((answer) => answer.status))).toEqual(new Set([201]));
      expect(new Set(answers.map((answer) => answer.body)).size).toBe(1);
      expect(await listed(path)).toHaveLength(1);
    });

    test('a different body with a known key gets 422 and creates no object', async () => {
      await harness.post(path, body(order), key);
      const answer = await harness.post(path, of.other(order), key);
      expect([answer.status, errorIn(answer).code]).toEqual([422, 'idempotency_key_mismatch']);
      expect(await listed(path)).toHaveLength(1);
    });

    test('of two concurrent requests with one key and different bodies, one creates an object and the other gets 422', async () => {
      const answers = await Promise.all([
        harness.post(path, body(order), key),
        harness.post(path, of.other(order), key),
      ]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 422]);
      expect(await listed(path)).toHaveLength(1);
    });

    test('each request without a key or with a new key creates a separate object', async () => {
      await harness.post(path, body(order));
      await harness.post(path, body(order));
      await harness.post(path, body(order), key);
      expect(await listed(path)).toHaveLength(3);
    });

    test('the list is sorted oldest first', async () => {
      const ids: string[] = [];
      for (let made = 0; made < 3; made += 1) {
        ids.push(idIn(await harness.post(path, body(order))));
        sandbox.advance(1_000);
      }
      expect(await listed(path)).toMatchObject(ids.map((id) => ({ id })));
    });

    test(`a request for ${of.refused} is refused each time and creates no object; its key may then be sent with another body`, async () => {
      for (let send = 1; send <= 2; send += 1) {
        const answer = await harness.post(path, body(order, of.refused), key);
        expect([answer.status, errorIn(answer).code]).toEqual(of.refusal);
      }
      expect(await listed(path)).toEqual([]);
      expect((await harness.post(path, body(order), key)).status).toBe(201);
    });

    test(`a request for ${of.timeout} creates an object but gets 504; the second request gets the created object`, async () => {
      expect((await harness.post(path, body(order, of.timeout), key)).status).toBe(504);
      expect(sandbox.waits).toEqual([15_000]);
      const [made, ...more] = await listed(path);
      expect(more).toEqual([]);
      const second = await harness.post(path, body(order, of.timeout), key);
      expect([second.status, JSON.parse(second.body)]).toEqual([201, made]);
      expect(sandbox.waits).toHaveLength(1);
      expect(await listed(path)).toHaveLength(1);
    });

    test(`a request for ${of.flaky} gets 500 and creates no object; the second request creates one`, async () => {
      expect((await harness.post(path, body(order, of.flaky), key)).status).toBe(500);
      expect(await listed(path)).toEqual([]);
      expect((await harness.post(path, body(order, of.flaky), key)).status).toBe(201);
      expect(await listed(path)).toHaveLength(1);
    });

    test('a list request without an order, or with an unknown parameter, gets 400', async () => {
      for (const query of [{}, { order: '' }, { order, more: '1' }]) {
        const answer = await harness.get(path, query);
        expect([answer.status, errorIn(answer).code]).toEqual([400, 'invalid_request']);
      }
    });
  });

  describe(`the shop (${booksKind} store):`, () => {
    const [stock, credits] = SERVICES;

    test('a reservation is released once; a repeated release gets the same response, and the list still contains the reservation', async () => {
      const made = await harness.post(stock.path, stock.body(order), key);
      const releasing = () => harness.post(`${stock.path}/${idIn(made)}/release`);
      const [first, second] = await Promise.all([releasing(), releasing()]);
      expect(first.status).toBe(200);
      const released = { ...(JSON.parse(made.body) as object), status: 'released' };
      expect(JSON.parse(first.body)).toEqual(released);
      expect(second).toEqual(first);
      expect(await releasing()).toEqual(first);
      expect(await listed(stock.path)).toEqual([released]);
      expect(JSON.parse((await harness.post(stock.path, stock.body(order), key)).body)).toEqual(released);
    });

    test('an unknown reservation gets a 404, and so does the id of a credit', async () => {
      const credit = idIn(await harness.post(credits.path, credits.body(order)));
      for (const id of ['rsv_none', credit]) {
        expect((await harness.post(`${stock.path}/${id}/release`)).status).toBe(404);
      }
    });

    test('a request reserves nothing if one of its items is out of stock', async () => {
      const items = ['sku_flaky', 'sku_tea', 'sku_none'].map((sku) => ({ sku, quantity: 1 }));
      expect((await harness.post(stock.path, { order, items }, key)).status).toBe(409);
      expect(await listed(stock.path)).toEqual([]);
    });

    test('a credit for ref_down gets 503 every time, and is never created', async () => {
      for (let send = 1; send <= 3; send += 1) {
        expect((await harness.post(credits.path, credits.body(order, 'ref_down'), key)).status).toBe(503);
      }
      expect(await listed(credits.path)).toEqual([]);
    });

    test('one key can be used separately for the stock, the credits and the processor', async () => {
      expect((await harness.charge('tok_flaky', {}, key)).status).toBe(500);
      expect((await harness.post(stock.path, stock.body(order, 'sku_flaky'), key)).status).toBe(500);
      expect((await harness.post(credits.path, credits.body(order, 'ref_flaky'), key)).status).toBe(500);
      expect((await harness.charge('tok_flaky', {}, key)).status).toBe(201);
      expect((await harness.post(stock.path, stock.body(order, 'sku_flaky'), key)).status).toBe(201);
      expect((await harness.post(credits.path, credits.body(order, 'ref_flaky'), key)).status).toBe(201);
    });
  });
}
