import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { type PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { Api, as, dataOf, OTHER_KEY } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';

const ADMIN_KEY = 'ok_adminadminadminadmin00';

let harness: Api;
let payment: PaymentId;

beforeEach(async () => {
  harness = new Api();
  payment = await harness.paid('k-1');
});

const leg = (account: string, direction: string, amount: number) => ({ account, direction, amount });
const transitions = async () => dataOf(await harness.get(`/v1/payments/${payment}/transitions`));

describe('a correction over HTTP', () => {
  test('is posted as a reversal, returned in the response, and listed in the entries and the transitions', async () => {
    const made = await harness.correct('c-1', { payment, reverses: 2 });

    expect(made.status).toBe(201);
    expect(made.headers).not.toHaveProperty('Idempotency-Replayed');
    expect(made.body).toEqual({
      id: expect.stringMatching(/^cor_[a-z2-7]{32}$/),
      object: 'correction',
      payment,
      sequence: 3,
      reason: 'Booked twice',
      operator: 'Ada Example',
      reverses: 2,
      postings: [
        { account: 'processor_clearing', direction: 'credit', amount: 1000, currency: 'EUR' },
        { account: 'merchant_payable', direction: 'debit', amount: 1000, currency: 'EUR' },
      ],
      created: Date.UTC(2026, 2, 1, 12) / 1000 + 1,
    });
    expect((await transitions()).at(-1)).toMatchObject({ sequence: 3, type: 'ledger.corrected' });
    const entries = dataOf(await harness.get(`/v1/ledger/entries?payment=${payment}`));
    expect(entries.map(({ sequence, type }) => [sequence, type])).toEqual([
      [2, 'payment.completed'],
      [2, 'payment.completed'],
      [3, 'ledger.corrected'],
      [3, 'ledger.corrected'],
    ]);
    const balances = dataOf(await harness.get('/v1/balances'));
    expect(balances.map(({ balance }) => balance)).toEqual([0, 0]);
  });

  test('shows its postings and balances in a dry run, but writes nothing and leaves the key unused', async () => {
    const key = { headers: { 'Idempotency-Key': '' } };
    for (const asked of [{}, key]) {
      const shown = await harness.correct('c-1', { payment, reverses: 2, dry_run: true }, asked);
      expect([shown.status, shown.body]).toEqual([
        200,
        {
          object: 'dry_run',
          payment,
          type: 'ledger.corrected',
          payment_status: 'succeeded',
          needs_approval: false,
          postings: [
            { account: 'processor_clearing', direction: 'credit', amount: 1000, currency: 'EUR' },
            { account: 'merchant_payable', direction: 'debit', amount: 1000, currency: 'EUR' },
          ],
          balances: [
            { account: 'processor_clearing', currency: 'EUR', normal_balance: 'debit', before: 1000, after: 0 },
            { account: 'merchant_payable', currency: 'EUR', normal_balance: 'credit', before: 1000, after: 0 },
          ],
        },
      ]);
    }
    expect(await transitions()).toHaveLength(2);
    expect((await harness.correct('c-1', { payment, reverses: 2 })).status).toBe(201);
    const refused = await harness.correct('c-2', { payment, reverses: 2, dry_run: true });
    expect(refused.body).toMatchObject({ code: 'already_reversed' });
    expect(await transitions()).toHaveLength(3);
  });

  test('is posted in the payment’s currency if it consists of new postings', async () => {
    const postings = [leg('corrections', 'debit', 30), leg('fees', 'credit', 10), leg('refunds', 'credit', 20)];

    const made = await harness.correct('c-1', { payment, postings });

    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      reverses: null,
      postings: postings.map((each) => ({ ...each, currency: 'EUR' })),
    });
  });

  test('is replayed byte for byte under the same key, and posted once', async () => {
    const first = await harness.correct('c-1', { payment, reverses: 2 });
    harness.clock.advance(3_600_000);
    const again = await harness.correct('"c-1"', { payment, reverses: 2 });

    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers['Idempotency-Replayed']).toBe('true');
    expect(await transitions()).toHaveLength(3);
    const corrections = harness.reports.filter(({ report }) => report.route === '/v1/admin/corrections');
    expect(corrections.map(({ counts }) => counts)).toEqual([['first'], ['replay']]);
  });

  test('returns 422 for a used key with a different body, and the first correction remains', async () => {
    await harness.correct('c-1', { payment, reverses: 2 });
    const other = await harness.correct('c-1', { payment, reverses: 2, reason: 'Another' });

    expect(other.status).toBe(422);
    expect(other.body).toMatchObject({ code: 'idempotency_key_payload_mismatch' });
    expect(await transitions()).toHaveLength(3);
  });

  test('stores nothing that could confirm a guess of its reason: after an erasure, a retry with any reason is replayed', async () => {
    const body = { payment, reverses: 2, reason: 'Asked for by Ada' };
    await harness.correct('c-1', body);
    const { sha256 } = fingerprintOf(systemDigest, { body, query: {} });
    const { store } = harness.world;
    const items = Object.values(TABLES).map((table) => store.rows.items(table));
    const rows = JSON.stringify(items, (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    );
    expect(rows).toContain('Asked for by Ada');
    expect(rows).not.toContain(Buffer.from(sha256).toString('hex'));

    await store.erase(payment);
    const guessed = await harness.correct('c-1', { ...body, reason: 'Another' });
    expect([guessed.status, guessed.body]).toMatchObject([201, { reason: null, details_erased: true }]);
    expect((await harness.correct('c-1', { ...body, reverses: 1 })).status).toBe(422);
    expect(await transitions()).toHaveLength(3);
  });

  test('returns 409 with the id of the earlier correction if the set was already reversed', async () => {
    const first = await harness.correct('c-1', { payment, reverses: 2 });
    const second = await harness.correct('c-2', { payment, reverses: 2 });

    expect(second.status).toBe(409);
    expect(second.body).toMatchObject({ code: 'already_reversed', param: 'reverses', correction_id: first.body['id'] });
    expect((await harness.correct('c-3', { payment, reverses: 3 })).status).toBe(201);
  });

  test('is refused when it is retried years later; the refusal names the payment, and the correction can still be read', async () => {
    const first = await harness.correct('c-1', { payment, reverses: 2 });
    harness.clock.advance(4_000 * 24 * 3_600_000);
    harness.store.database.deleteExpired(harness.clock.nowMs());

    const late = await harness.correct('c-1', { payment, reverses: 2 });

    expect(late).toMatchObject({ status: 409, body: { code: 'idempotency_key_expired', payment_id: payment } });
    expect(await transitions()).toHaveLength(3);
    expect((await harness.get(`/v1/corrections/${String(first.body['id'])}`)).text).toBe(first.text);
  });

  test.each([
    ['a transition without postings', { reverses: 1 }, 'invalid_request', 'reverses'],
    ['a transition that does not exist', { reverses: 9 }, 'invalid_request', 'reverses'],
    ['an invalid sequence', { reverses: 0 }, 'invalid_request', 'reverses'],
    ['a sequence as text', { reverses: '2' }, 'invalid_request', 'reverses'],
    ['neither reverses nor postings', {}, 'invalid_request', 'reverses'],
    [
      'both reverses and postings',
      { reverses: 2, postings: [leg('fees', 'debit', 1), leg('refunds', 'credit', 1)] },
      'invalid_request',
      'postings',
    ],
    ['one posting', { postings: [leg('fees', 'debit', 1)] }, 'invalid_request', 'postings'],
    ['eleven postings', { postings: Array(11).fill(leg('fees', 'debit', 1)) }, 'invalid_request', 'postings'],
    [
      'an unknown account',
      { postings: [leg('cash', 'debit', 1), leg('fees', 'credit', 1)] },
      'invalid_request',
      'postings.0.account',
    ],
    [
      'an amount of zero',
      { postings: [leg('refunds', 'debit', 0), leg('fees', 'credit', 0)] },
      'invalid_request',
      'postings.0.amount',
    ],
    [
      'half a cent',
      { postings: [leg('refunds', 'debit', 0.5), leg('fees', 'credit', 0.5)] },
      'invalid_request',
      'postings.0.amount',
    ],
    [
      'a currency field',
      { postings: [{ ...leg('refunds', 'debit', 1), currency: 'USD' }, leg('fees', 'credit', 1)] },
      'unknown_field',
      'postings.0.currency',
    ],
    ['a blank reason', { reverses: 2, reason: ' ' }, 'invalid_request', 'reason'],
    ['too long a reason', { reverses: 2, reason: 'x'.repeat(501) }, 'invalid_request', 'reason'],
    ['a status', { reverses: 2, status: 'failed' }, 'unknown_field', 'status'],
    ['a card number', { reverses: 2, reason: 'of 4242 4242 4242 4242' }, 'card_number_not_allowed', 'reason'],
    ['a secret', { reverses: 2, reason: 'sk_live_0123456789abcdefghijkl' }, 'secret_not_allowed', 'reason'],
  ])('returns 400 with the field name for %s, and stores nothing', async (_what, body, code, param) => {
    const refused = await harness.correct('c-1', { payment, ...body });

    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ code, param });
    expect(await transitions()).toHaveLength(2);
    expect((await harness.correct('c-1', { payment, reverses: 2 })).status).toBe(201);
  });

  test.each([
    [leg('refunds', 'debit', 12), 'The debits exceed the credits by 2 minor units.'],
    [leg('refunds', 'debit', 7), 'The credits exceed the debits by 3 minor units.'],
    [leg('refunds', 'credit', 10), 'The credits exceed the debits by 20 minor units.'],
  ])('returns 400 with the difference if it is unbalanced: %j', async (other, detail) => {
    const refused = await harness.correct('c-1', { payment, postings: [other, leg('fees', 'credit', 10)] });

    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({ code: 'unbalanced', param: 'postings', detail });
  });

  test.each([
    ['', 'missing_idempotency_key'],
    ['two words', 'invalid_idempotency_key'],
    ['x'.repeat(129), 'invalid_idempotency_key'],
  ])('returns 400 for the key %j before anything is read', async (key, code) => {
    expect((await harness.correct(key, { payment, reverses: 2 })).body).toMatchObject({ status: 400, code });
  });

  test('must be sent as JSON, without repeated fields and without query parameters', async () => {
    const headers = { 'Content-Type': 'text/plain' };

    expect((await harness.correct('c-1', {}, { headers })).status).toBe(415);
    expect((await harness.correct('c-1', {}, { event: { body: '{"a":1,"a":1}' } })).body).toMatchObject({
      code: 'invalid_json',
    });
    const queried = { event: { queryStringParameters: { dry_run: 'true' } } };
    expect((await harness.correct('c-1', { payment, reverses: 2 }, queried)).body).toMatchObject({
      code: 'unknown_parameter',
    });
  });

  test('is refused to tenants; operators do not share idempotency keys', async () => {
    harness.registerKey(OTHER_KEY, {});
    expect((await harness.correct('c-1', { payment, reverses: 2 }, as(OTHER_KEY))).status).toBe(401);
    await harness.correct('c-1', { payment, reverses: 2 });

    harness.registerOperator('ok_zyxwvutsrqponmlkjihgfe', { operator: 'Bob Example' });
    const theirs = await harness.correct('c-1', { payment, reverses: 3 }, as('ok_zyxwvutsrqponmlkjihgfe'));

    expect([theirs.status, theirs.body['operator']]).toEqual([201, 'Bob Example']);
    expect(await transitions()).toHaveLength(4);
  });
});

describe('the correction example in docs/guides/books.md', () => {
  /** Matches a `curl` call with a JSON body, in the form that docs/guides/books.md uses. */
  const CURL = /^curl -X POST "\$API(\/v1\/admin\/corrections)" ((?:-H (?:"[^"]*"|'[^']*') ?)+)\\\n {2}-d '([^']+)'/gm;

  test('posts a correction, shows its reversal in a dry run, and reverses it', async () => {
    const page = readFileSync(new URL('../../docs/guides/books.md', import.meta.url), 'utf8');
    const requests = [...page.matchAll(CURL)].map(([, path = '', headers = '', body = '']) => ({
      path,
      headers: Object.fromEntries(
        [...headers.matchAll(/-H ["']([^:]+): ([^"']+)["']/g)].map(([, name = '', value = '']) => [
          name,
          value.replace('$ADMIN', ADMIN_KEY),
        ]),
      ),
      body: body.replace('pay_…', payment),
    }));
    expect(requests).toHaveLength(3);
    harness.registerOperator(ADMIN_KEY);
    const balances = async () =>
      new Map(dataOf(await harness.get('/v1/balances')).map((row) => [row['account'], row['balance']]));
    const before = await balances();
    const seen = [];
    for (const { path, headers, body } of requests) {
      const { status, body: answer } = await harness.ask('POST', path, { headers, event: { body } });
      seen.push({ status, answer, balances: await balances(), transitions: (await transitions()).length });
    }

    expect(seen).toMatchObject([
      { status: 201, answer: { object: 'correction', sequence: 3 }, transitions: 3 },
      { status: 200, answer: { object: 'dry_run' }, transitions: 3 },
      { status: 201, answer: { object: 'correction', reverses: 3 }, transitions: 4 },
    ]);
    const [made, shown, reversed] = seen;
    expect(made?.balances.get('fees')).toBe(150);
    expect(shown?.balances).toEqual(made?.balances);
    expect(reversed?.balances).toEqual(new Map([...before, ['fees', 0], ['corrections', 0]]));
  });
});
