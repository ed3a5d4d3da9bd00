/** Covers each row of the documented table. Tests the guarantee "one answer". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { Api, type Reply } from '../world/api.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { meaning } from './replies.ts';

const DAY = 24 * 60 * 60 * 1_000;

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

const chargesOf = ({ body }: Reply) => harness.processor.charges(String(body['id'])).length;
const countsOfLast = () => harness.reports.at(-1)?.counts;

describe('the idempotency key', () => {
  test('is required, and a request without it returns 400 and charges nothing', async () => {
    const reply = await harness.ask('POST', '/v1/payments', {
      headers: { 'Content-Type': 'application/json' },
      event: { body: '{"amount":1000,"currency":"EUR","source":"tok_ok"}' },
    });

    expect(reply.status).toBe(400);
    expect(reply.headers['Content-Type']).toBe('application/problem+json');
    expect(reply.body).toMatchObject({ code: 'missing_idempotency_key', request_id: 'req-1', status: 400 });
    expect(harness.processor.inside.sent).toEqual([]);
  });

  test.each(['', '  ', '""'])('is treated as missing if it is %j', async (key) => {
    expect((await harness.pay(key)).body).toMatchObject({ code: 'missing_idempotency_key' });
  });

  test.each(['a b', 'schlüssel', '"open', 'k'.repeat(129)])(
    'is rejected with 400 if it is malformed: %s',
    async (key) => {
      const reply = await harness.pay(key);

      expect(reply.status).toBe(400);
      expect(reply.body).toMatchObject({ code: 'invalid_idempotency_key' });
      expect(reply.text).not.toContain(key);
    },
  );

  test('is rejected with 400 if it has two values, in either header map of the gateway', async () => {
    const twoInOneMap = { multiValueHeaders: headersWith(['k-1', 'k-2']) };
    const oneInEach = { headers: { ...single, 'idempotency-key': 'k-1' }, multiValueHeaders: headersWith(['k-2']) };

    for (const event of [twoInOneMap, oneInEach]) {
      const reply = await harness.pay('k-1', {}, { event });
      expect(reply.status).toBe(400);
      expect(reply.body).toMatchObject({ code: 'invalid_idempotency_key' });
    }
  });

  test('is recognized in any letter case of the header name, raw or quoted, and even if it is sent twice', async () => {
    const first = await harness.pay('k-1');
    const forms = [
      { headers: { ...single, 'idempotency-key': 'k-1' }, multiValueHeaders: null },
      { headers: null, multiValueHeaders: headersWith(['"k-1"']) },
      { headers: { ...single, 'IDEMPOTENCY-KEY': 'k-1' }, multiValueHeaders: headersWith(['k-1', '"k-1"', 'k-1']) },
    ];

    for (const event of forms) expect(meaning(await harness.pay('k-1', {}, { event }))).toEqual(meaning(first));
    expect(chargesOf(first)).toBe(1);
  });
});

const single = { 'content-type': 'application/json', authorization: 'Bearer sk_test_0123456789abcdefghijkl' };
const headersWith = (keys: readonly string[]) => ({
  ...Object.fromEntries(Object.entries(single).map(([name, value]) => [name, [value]])),
  'Idempotency-Key': keys,
});

describe('the first execution', () => {
  test('returns 201 if the amount was captured', async () => {
    const reply = await harness.pay('k-1');

    expect(reply.status).toBe(201);
    expect(reply.headers['Idempotency-Replayed']).toBeUndefined();
    expect(chargesOf(reply)).toBe(1);
    expect(countsOfLast()).toEqual(['first']);
  });

  test('returns 201 if the amount was authorized', async () => {
    const reply = await harness.pay('k-1', { capture: 'manual' });

    expect(reply.status).toBe(201);
    expect(reply.body).toMatchObject({ status: 'requires_capture', amount_captured: 0, capture: 'manual' });
  });

  test('returns 402 with the payment if the charge is declined, and a retry returns the same decline', async () => {
    const declined = await harness.pay('k-1', { source: 'tok_declined' });
    const again = await harness.pay('k-1', { source: 'tok_declined' });

    expect(declined.status).toBe(402);
    expect(declined.headers['Content-Type']).toBe('application/problem+json');
    expect(declined.body).toMatchObject({
      code: 'payment_failed',
      payment: { object: 'payment', status: 'failed', failure: { code: 'card_declined' } },
    });
    expect(meaning(again)).toEqual(meaning(declined));
    expect(again.headers['Idempotency-Replayed']).toBe('true');
  });

  test('returns 202 with a Location if the outcome is not known in time, and a retry returns the same response', async () => {
    const unanswered = { ...harness.processor, charge: timedOut, findCharge: unavailable };
    const away = harness.with({ processor: unanswered });

    const accepted = await away.pay('k-1');
    const again = await harness.pay('k-1');

    expect(accepted.status).toBe(202);
    expect(accepted.body).toMatchObject({ status: 'processing', amount_captured: 0 });
    expect(accepted.headers['Location']).toBe(`../v1/payments/${String(accepted.body['id'])}`);
    expect(away.reports.at(-1)?.counts).toEqual(['first', 'unknown']);
    expect(meaning(again)).toEqual(meaning(accepted));
  });
});

const silent = new Api().processor;

const timedOut: Processor['charge'] = async (order, limit) => {
  await silent.inside.failNext(1, 'tok_timeout_not_charged');
  return silent.charge(order, limit);
};

const unavailable: Processor['findCharge'] = async (order, limit) => {
  await silent.inside.goDown();
  try {
    return await silent.findCharge(order, limit);
  } finally {
    await silent.inside.recover();
  }
};

describe('a replay', () => {
  test('is the stored response byte for byte, marked as a replay', async () => {
    const first = await harness.pay('k-1', { metadata: { order: '1' } });
    const replay = await harness.pay('k-1', { metadata: { order: '1' } });

    expect(meaning(replay)).toEqual(meaning(first));
    expect(replay.headers).toMatchObject({ 'Idempotency-Replayed': 'true', 'Request-Id': 'req-2' });
    expect(chargesOf(first)).toBe(1);
    expect(countsOfLast()).toEqual(['replay_warm']);
  });

  test('is the same from a process without the key in its cache', async () => {
    const first = await harness.pay('k-1');
    const elsewhere = harness.with({ processor: harness.processor });

    expect(meaning(await elsewhere.pay('k-1'))).toEqual(meaning(first));
    expect(chargesOf(first)).toBe(1);
    // With PostgreSQL, the cache is a table, which all processes share.
    const replay = harness.store.postgres === undefined ? 'replay' : 'replay_warm';
    expect(elsewhere.reports.at(-1)?.counts).toEqual([replay]);
  });

  test('is the same for a different spelling of the same body', async () => {
    const first = await harness.post('{"amount":1000,"currency":"EUR","source":"tok_ok","metadata":{"a":"1","b":"2"}}');
    const again = await harness.post(
      ' {"metadata": {"b":"\\u0032","a":"1"}, "source":"tok\\u005fok",\n"currency":"EUR","amount":1e3}',
    );

    expect(meaning(again)).toEqual(meaning(first));
  });

  test('is the same for every spelling of the path', async () => {
    const first = await harness.pay('k-1');
    const paths = ['/v1/payments/', '//v1//payments', '/v1/%70ayments'];

    for (const path of paths) {
      const reply = await harness.pay('k-1', {}, { event: { path, pathParameters: null } });
      const fromV1 = (address: string) => `..${new URL(address, `https://api.example${path}`).pathname}`;
      const { Location: location = '', Link: link = '', ...headers } = reply.headers;
      const addresses = {
        Location: fromV1(location),
        Link: link.replaceAll(/<([^>]+)>/g, (_text, address: string) => `<${fromV1(address)}>`),
      };
      expect(meaning({ ...reply, headers: { ...headers, ...addresses } })).toEqual(meaning(first));
    }
    expect(chargesOf(first)).toBe(1);
  });
});

describe('a duplicate while the first request runs', () => {
  const heldHarness = () => {
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const held: Processor = {
      ...harness.processor,
      charge: async (order, limit) => {
        asked.resolve();
        await answered.promise;
        return harness.processor.charge(order, limit);
      },
    };
    const first = harness.with({ processor: held });
    return { first, asked: asked.promise, answer: answered.resolve };
  };

  test('gets 409 with Retry-After', async () => {
    const { first, asked, answer } = heldHarness();
    const running = first.pay('k-1');
    await asked;

    const rival = await harness.pay('k-1');

    expect(rival.status).toBe(409);
    expect(rival.headers).toMatchObject({ 'Retry-After': '1', 'Content-Type': 'application/problem+json' });
    expect(rival.body).toMatchObject({ code: 'idempotency_key_in_progress', request_id: 'req-1' });
    expect(countsOfLast()).toEqual(['in_progress']);
    answer();
    expect((await running).status).toBe(201);
  });

  test('waits for the first request if sent with Prefer: wait, and replays its response', async () => {
    const { first, asked, answer } = heldHarness();
    const running = first.pay('k-1');
    await asked;
    const waiting = new Api({
      store: harness.store,
      processor: harness.processor,
      clock: {
        nowMs: () => harness.clock.nowMs(),
        sleep: async (ms) => {
          harness.clock.advance(ms);
          answer();
          await running;
        },
      },
    });

    const rival = await waiting.pay('k-1', {}, { headers: { prefer: 'respond-async, WAIT=30' } });

    const { 'Preference-Applied': applied, ...headers } = rival.headers;
    expect(applied).toBe('wait=8');
    expect(headers['Idempotency-Replayed']).toBe('true');
    expect(meaning({ ...rival, headers })).toEqual(meaning(await running));
    expect(harness.processor.charges(String(rival.body['id']))).toHaveLength(1);
  });

  test('gets 409 despite Prefer: wait if the first request takes longer than the wait', async () => {
    const { first, asked, answer } = heldHarness();
    const running = first.pay('k-1');
    await asked;
    const askedAtMs = harness.clock.nowMs();

    const rival = await harness.pay('k-1', {}, { headers: { prefer: 'wait=3' } });

    expect(rival.status).toBe(409);
    expect(rival.headers).toMatchObject({ 'Retry-After': '1', 'Preference-Applied': 'wait=3' });
    expect(harness.clock.nowMs() - askedAtMs).toBe(3_000);
    answer();
    await running;
  });
});

describe('a request with a reused key', () => {
  test('gets 422 for a different body even with Prefer: wait, as documented', async () => {
    await harness.pay('k-1');
    const other = await harness.pay('k-1', { amount: 999 }, { headers: { prefer: 'wait=3' } });
    expect(other).toMatchObject({ status: 422, headers: { 'Preference-Applied': 'wait=3' } });
  });

  test('gets 422 for a different body, and the stored response stays unchanged', async () => {
    const first = await harness.pay('k-1');
    const other = await harness.pay('k-1', { amount: 2000 });

    expect(other.status).toBe(422);
    expect(other.body).toMatchObject({
      code: 'idempotency_key_payload_mismatch',
      detail:
        'This Idempotency-Key belongs to a request with a different body, which may have taken effect. Send that body again. A new key starts a new operation.',
    });
    expect(countsOfLast()).toEqual(['mismatch']);
    expect(meaning(await harness.pay('k-1'))).toEqual(meaning(first));
    expect(chargesOf(first)).toBe(1);
  });

  test('gets 422 for a body that differs only by stating a default value explicitly', async () => {
    await harness.pay('k-1');

    expect((await harness.pay('k-1', { capture: 'automatic' })).status).toBe(422);
  });

  test('gets 409 with the id of the payment after the key’s retention, and nothing is charged', async () => {
    const first = await harness.pay('k-1');
    harness.clock.advance(9 * DAY);

    for (const body of [{}, { amount: 2000 }]) {
      const late = await harness.pay('k-1', body);
      expect(late.status).toBe(409);
      expect(late.body).toMatchObject({ code: 'idempotency_key_expired', payment_id: first.body['id'] });
      expect(countsOfLast()).toEqual(['replay_missed']);
    }
    expect(chargesOf(first)).toBe(1);
  });

  test('is charged separately for another tenant, and neither tenant sees the other’s payment', async () => {
    const theirKey = 'sk_test_zyxwvutsrqponmlkjihgfe';
    harness.registerKey(theirKey, { tenantId: tenantId('ten_other') });
    const asOther = { headers: { Authorization: `Bearer ${theirKey}` } };

    const mine = await harness.pay('k-1');
    const theirs = await harness.pay('k-1', { amount: 2000 }, asOther);

    expect([mine.status, theirs.status]).toEqual([201, 201]);
    expect(theirs.body['id']).not.toBe(mine.body['id']);
    expect(theirs.body).toMatchObject({ amount: 2000 });
    const read = async ({ body }: Reply, asked = {}) =>
      (await harness.get(`/v1/payments/${String(body['id'])}`, asked)).status;
    expect([await read(mine), await read(theirs)]).toEqual([200, 404]);
    expect([await read(mine, asOther), await read(theirs, asOther)]).toEqual([404, 200]);
  });

  test('charges separately in the other mode', async () => {
    const liveKey = 'sk_live_0123456789abcdefghijkl';
    const live = harness.with({ processor: createSandboxInProcess({ clock: harness.clock, mode: 'live' }) });
    live.registerKey(liveKey, { mode: 'live' });

    const inTest = await harness.pay('k-1');
    const inLive = await live.pay('k-1', {}, { headers: { Authorization: `Bearer ${liveKey}` } });

    expect(inLive.status).toBe(201);
    expect(inLive.body).toMatchObject({ livemode: true });
    expect(inLive.body['id']).not.toBe(inTest.body['id']);
  });

  test('is accepted if the earlier request was refused before its claim', async () => {
    expect((await harness.pay('k-1', { amount: -1 })).status).toBe(400);
    expect((await harness.pay('k-1')).status).toBe(201);
  });
});

describe('a reference', () => {
  test('is refused with 409 and the id of its payment while that payment uses it, and nothing is charged', async () => {
    const first = await harness.pay('k-1', { reference: 'order-1' });
    const second = await harness.pay('k-2', { reference: 'order-1' });

    expect(second.status).toBe(409);
    expect(second.body).toMatchObject({
      code: 'reference_already_used',
      param: 'reference',
      payment_id: first.body['id'],
    });
    expect(chargesOf(first)).toBe(1);
  });

  test('can be used again after its payment has failed', async () => {
    await harness.pay('k-1', { reference: 'order-1', source: 'tok_declined' });

    expect((await harness.pay('k-2', { reference: 'order-1' })).status).toBe(201);
  });

  test('is compared byte by byte', async () => {
    await harness.pay('k-1', { reference: 'caf\u00e9' });

    expect((await harness.pay('k-2', { reference: 'cafe\u0301' })).status).toBe(201);
    expect((await harness.pay('k-3', { reference: 'caf\u00e9\u200b' })).status).toBe(201);
    expect((await harness.pay('k-4', { reference: 'Caf\u00e9' })).status).toBe(201);
    expect((await harness.pay('k-5', { reference: 'caf\u00e9' })).status).toBe(409);
  });

  test('leaves the key unused if the request is refused because of its reference', async () => {
    await harness.pay('k-1', { reference: 'order-1' });
    await harness.pay('k-2', { reference: 'order-1' });

    expect((await harness.pay('k-2', { reference: 'order-2' })).status).toBe(201);
  });
});

test('a replayed problem document is the same for every spelling of the path', async () => {
  const first = await harness.pay('k-1', { source: 'tok_declined' });
  expect(first.body['type']).toBe('../docs/problems#payment_failed');
  for (const path of ['/v1/payments/', '//v1//payments', '/v1/%70ayments']) {
    const reply = await harness.pay('k-1', { source: 'tok_declined' }, { event: { path, pathParameters: null } });
    expect(reply.body).toEqual(first.body);
  }
});
