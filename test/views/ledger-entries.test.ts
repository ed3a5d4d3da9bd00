import { beforeEach, describe, expect, test } from '@jest/globals';
import { Scopes } from '../../lambdas/kernel/contract/api.ts';
import { RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { API_KEY, Api, as, dataOf, idsOf, OTHER_KEY } from '../world/api.ts';

const UNKNOWN_ID = `pay_${'a'.repeat(32)}`;
const PATH = '/v1/ledger/entries';
const CREATED = Date.UTC(2026, 2, 1, 12) / 1000;

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

describe('the entries of the Ledger', () => {
  test('are listed oldest first, with payment, transition and amount', async () => {
    const first = await harness.paid('k-1');
    const second = await harness.paid('k-2', { amount: 700, currency: 'USD' });

    const list = await harness.get(PATH);

    const shown = (
      payment: string,
      account: string,
      direction: string,
      amount: number,
      currency: string,
      at: number,
    ) => ({
      id: expect.stringMatching(/^ent_[\w-]+$/),
      object: 'ledger_entry',
      payment,
      sequence: 2,
      type: 'payment.completed',
      account,
      direction,
      amount,
      currency,
      created: at,
    });
    expect(list.status).toBe(200);
    expect(list.body).toEqual({
      object: 'list',
      data: [
        shown(first, 'processor_clearing', 'debit', 1000, 'EUR', CREATED),
        shown(first, 'merchant_payable', 'credit', 1000, 'EUR', CREATED),
        shown(second, 'processor_clearing', 'debit', 700, 'USD', CREATED + 1),
        shown(second, 'merchant_payable', 'credit', 700, 'USD', CREATED + 1),
      ],
      has_more: false,
    });
  });

  test('are paged after a given entry, without gaps or duplicates', async () => {
    for (const key of ['k-1', 'k-2', 'k-3']) await harness.paid(key);
    const all = idsOf(await harness.get(PATH));
    const paged: string[] = [];
    let hasMore = true;
    for (let page = 0; page < 5 && hasMore; page += 1) {
      const after = paged.at(-1);
      const reply = await harness.get(`${PATH}?limit=2${after === undefined ? '' : `&starting_after=${after}`}`);
      paged.push(...idsOf(reply));
      hasMore = reply.body['has_more'] === true;
    }

    expect(new Set(all).size).toBe(6);
    expect(paged).toEqual(all);
    expect(hasMore).toBe(false);
  });

  test('can be filtered by payment, account and day, separately and together', async () => {
    const first = await harness.paid('k-1');
    harness.clock.advance(12 * 60 * 60 * 1000 - 1000);
    const next = await harness.paid('k-2');
    const asked = async (search: string) => dataOf(await harness.get(`${PATH}?${search}`));

    expect((await asked('day=2026-03-01')).map(({ payment }) => payment)).toEqual([first, first]);
    expect((await asked('day=2026-03-02')).map(({ payment }) => payment)).toEqual([next, next]);
    expect(await asked('day=2026-02-28')).toEqual([]);
    const both = [first, first, next, next];
    expect((await asked('from=2026-03-01&to=2026-03-02')).map(({ payment }) => payment)).toEqual(both);
    expect((await asked('from=2026-03-02')).map(({ payment }) => payment)).toEqual([next, next]);
    expect((await asked('to=2026-03-01&currency=EUR')).map(({ payment }) => payment)).toEqual([first, first]);
    expect(await asked('from=2026-03-01&currency=JPY')).toEqual([]);
    expect((await asked(`payment=${next}`)).map(({ payment }) => payment)).toEqual([next, next]);
    expect((await asked('account=merchant_payable')).map(({ direction }) => direction)).toEqual(['credit', 'credit']);
    expect(await asked(`payment=${first}&account=merchant_payable&day=2026-03-01&limit=1`)).toHaveLength(1);
    expect(await asked(`payment=${first}&day=2026-03-02`)).toEqual([]);
  });

  test.each([
    ['limit=0', 'limit', 'invalid_request'],
    ['limit=101', 'limit', 'invalid_request'],
    ['day=2026-02-30', 'day', 'invalid_request'],
    ['day=2026-3-1', 'day', 'invalid_request'],
    ['day=yesterday', 'day', 'invalid_request'],
    ['from=2026-03-02&to=2026-03-01', 'to', 'invalid_request'],
    ['day=2026-03-01&to=2026-03-01', 'day', 'invalid_request'],
    ['currency=EURO', 'currency', 'invalid_request'],
    ['account=cash', 'account', 'invalid_request'],
    ['starting_after=', 'starting_after', 'invalid_request'],
    ['starting_after=ent_', 'starting_after', 'invalid_request'],
    ['starting_after=2', 'starting_after', 'invalid_request'],
    ['tenant=ten_other', 'tenant', 'unknown_parameter'],
  ])('are refused for %s with an error that names %s', async (search, param, code) => {
    const reply = await harness.get(`${PATH}?${search}`);

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({ code, param });
  });

  test('cannot be listed by a rare currency in a large Ledger; the error names the parameters that narrow the search', async () => {
    const entries = () => Promise.reject(new TerminalError('currency_too_rare', 'none within the first rows'));
    const ledger = { entries, balances: () => Promise.resolve([]) };

    const reply = await new Api({ ledger }).get(`${PATH}?currency=JPY`);

    expect(reply.status).toBe(400);
    expect(reply.body).toMatchObject({
      code: 'invalid_request',
      param: 'currency',
      detail: expect.stringContaining('from and to'),
    });
  });

  test('cannot be listed with a forged cursor', async () => {
    await harness.paid('k-1');
    const [good = ''] = idsOf(await harness.get(PATH));
    const spelled = Buffer.from(good.slice(4), 'base64url').toString('utf8');
    const respelled = (text: string) => `ent_${Buffer.from(text).toString('base64url')}`;
    const forged = [
      respelled(spelled.replace(/ 0 /, ' 1 ')),
      respelled(spelled.replace(/^\d/, '9')),
      respelled(`${spelled} `),
      respelled(spelled.slice(0, -1)),
      `${good}=`,
      `${good}A`,
      good.toUpperCase(),
      good.slice(4),
    ];

    expect(spelled).toContain('pay_');
    expect((await harness.get(`${PATH}?starting_after=${good}`)).status).toBe(200);
    for (const cursor of forged) {
      const reply = await harness.get(`${PATH}?starting_after=${encodeURIComponent(cursor)}`);
      expect([cursor, reply.status, reply.body['param']]).toEqual([cursor, 400, 'starting_after']);
    }
  });

  test('cause status 503 while they cannot be read; balances that fail because of a bug cause status 500', async () => {
    const away = new Api({
      ledger: {
        entries: () => Promise.reject(new RetryableError('store_unavailable', 'throttled', { retryAfterSeconds: 2 })),
        balances: () => Promise.reject(new Error('a bug')),
      },
    });

    const entries = await away.get(PATH);
    const balances = await away.get('/v1/balances');

    expect(entries.status).toBe(503);
    expect(entries.headers['Retry-After']).toBe('2');
    expect(entries.body).toMatchObject({ code: 'temporarily_unavailable' });
    expect(balances.body).toMatchObject({ status: 500, code: 'internal_error' });
    expect(away.faults).toHaveLength(2);
  });
});

describe('the entries of a tenant in test mode', () => {
  test.each([
    ['another tenant', OTHER_KEY, { tenantId: tenantId('ten_other') }],
    ['the same tenant in live mode', 'sk_live_0123456789abcdefghijkl', { mode: 'live' as const }],
  ])('are not visible to %s by payment, cursor or account', async (_who, key, record) => {
    harness.registerKey(key, record);
    const payment = await harness.paid('k-1');
    const [cursor = ''] = idsOf(await harness.get(PATH));
    const { request_id: _theirs, ...foreign } = (await harness.get(`${PATH}?payment=${payment}`, as(key))).body;
    const { request_id: _unknown, ...unknown } = (await harness.get(`${PATH}?payment=${UNKNOWN_ID}`, as(key))).body;
    const { request_id: _odd, ...malformed } = (await harness.get(`${PATH}?payment=none`, as(key))).body;

    expect(foreign).toMatchObject({ status: 404, code: 'not_found' });
    expect(foreign).toEqual(unknown);
    expect(malformed).toEqual(unknown);
    const byCursor = await harness.get(`${PATH}?starting_after=${cursor}`, as(key));
    expect(byCursor.body).toMatchObject({ status: 400, param: 'starting_after' });
    for (const search of ['', '?account=processor_clearing', '?day=2026-03-01']) {
      expect((await harness.get(`${PATH}${search}`, as(key))).body).toEqual({
        object: 'list',
        data: [],
        has_more: false,
      });
    }
    expect((await harness.get('/v1/balances', as(key))).body).toMatchObject({ data: [] });
  });
});

describe('a route of the Ledger', () => {
  test.each([
    ['GET', PATH, Scopes.ledgerRead],
    ['GET', '/v1/balances', Scopes.ledgerRead],
  ])('%s %s requires the scope %s, and no other scope suffices', async (method, path, scope) => {
    harness.registerKey(API_KEY, { scopes: [scope] });
    harness.registerKey(OTHER_KEY, { scopes: Object.values(Scopes).filter((each) => each !== scope) });

    expect((await harness.ask(method, path, as(OTHER_KEY))).body).toMatchObject({ code: 'insufficient_scope' });
    expect((await harness.ask(method, path, as('sk_test_unknownunknownunknown'))).status).toBe(401);
    expect((await harness.ask(method, path)).status).not.toBe(403);
  });

  test.each([
    ['POST', PATH, 'GET, HEAD'],
    ['GET', '/v1/admin/corrections', 'POST'],
  ])('rejects an unsupported method and names the allowed methods: %s %s', async (method, path, allow) => {
    const reply = await harness.ask(method, path);

    expect(reply.status).toBe(405);
    expect(reply.headers['Allow']).toBe(allow);
  });

  test('writes one log line, without the request’s parameters', async () => {
    await harness.get(`${PATH}?payment=${UNKNOWN_ID}`);

    expect(harness.reports).toEqual([
      {
        report: {
          requestId: 'req-1',
          method: 'GET',
          route: PATH,
          status: 404,
          outcome: 'not_found',
          durationMs: 0,
          tenantId: 'ten_desk',
        },
        counts: [],
      },
    ]);
  });
});
