import { beforeEach, describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import type { Books } from '../../sandbox/books.ts';
import { bookCharges } from '../sandbox/booked-charges.ts';
import { callSandbox, type SandboxAnswer } from '../sandbox/sandbox-calls.ts';
import { createTestSandbox, type TestSandbox } from '../sandbox/sandbox-world.ts';
import { describeSandboxChanges } from './processor-sandbox-changes-suite.ts';

const chargeOf = z.looseObject({
  id: z.string(),
  status: z.string(),
  amount: z.number(),
  amount_captured: z.number(),
  amount_refunded: z.number(),
});
const listOf = z.object({ data: z.array(chargeOf) });
const errorOf = z.object({ error: z.object({ code: z.string(), message: z.string(), charge: z.string().optional() }) });

const statusesOf = (answers: readonly SandboxAnswer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Each test uses its own key and payment. */
export function describeSandbox(booksKind: string, createBooks: () => Promise<Books>): void {
  describe(`the sandbox processor with ${booksKind} books`, () => {
    let sandbox: TestSandbox;
    let payment: string;
    let key: string;

    beforeEach(async () => {
      sandbox = createTestSandbox(await createBooks());
      payment = `pay_${crypto.randomUUID()}`;
      key = `key_${crypto.randomUUID()}`;
      await switchFailures(0, 'tok_ok');
    });

    const post = (path: string, body?: unknown, withKey?: string): Promise<SandboxAnswer> =>
      callSandbox(sandbox.handler, {
        method: 'POST',
        path,
        headers: withKey === undefined ? {} : { 'Idempotency-Key': withKey },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
    const get = (path: string, query: Readonly<Record<string, string>> = {}): Promise<SandboxAnswer> =>
      callSandbox(sandbox.handler, { method: 'GET', path, query });
    const order = (changes: Readonly<Record<string, unknown>> = {}) => ({
      amount: 1_999,
      currency: 'EUR',
      source: 'tok_ok',
      capture: 'automatic',
      metadata: { payment },
      ...changes,
    });
    const charge = (source: string, withKey: string | undefined = key) => post('/charges', order({ source }), withKey);
    const listed = async (query: Readonly<Record<string, string>> = { payment }) =>
      listOf.parse(JSON.parse((await get('/charges', query)).body)).data;
    const chargeIn = (answer: SandboxAnswer) => chargeOf.parse(JSON.parse(answer.body));
    const errorIn = (answer: SandboxAnswer) => errorOf.parse(JSON.parse(answer.body)).error;
    const switchFailures = (count: number, source: string) =>
      callSandbox(sandbox.handler, {
        method: 'PUT',
        path: '/control/failures',
        body: JSON.stringify({ count, source }),
      });

    describe('charging', () => {
      test('returns 201 for a charge, and finds it immediately by id, by key and by payment', async () => {
        const answer = await charge('tok_ok');
        expect(answer.status).toBe(201);
        const made: unknown = JSON.parse(answer.body);
        expect(made).toEqual({
          id: expect.stringMatching(/^ch_/),
          object: 'charge',
          livemode: false,
          amount: 1_999,
          amount_captured: 1_999,
          amount_refunded: 0,
          currency: 'EUR',
          capture: 'automatic',
          status: 'succeeded',
          failure: null,
          fee: null,
          action_url: null,
          void_reason: null,
          refunds: [],
          disputes: [],
          metadata: { payment },
          created: 1_767_225_600,
        });
        const { id } = chargeIn(answer);
        expect(JSON.parse((await get(`/charges/${id}`)).body)).toEqual(made);
        expect(JSON.parse((await get('/charges', { key })).body)).toEqual({ data: [made], next: null });
        expect(JSON.parse((await get('/charges', { payment })).body)).toEqual({ data: [made], next: null });
      });

      test('authorizes a charge with manual capture, and captures nothing', async () => {
        const answer = await post('/charges', order({ capture: 'manual' }), key);
        expect(answer.status).toBe(201);
        expect(chargeIn(answer)).toMatchObject({ status: 'authorized', amount: 1_999, amount_captured: 0 });
      });

      test('returns the same charge for a repeated key, and charges once', async () => {
        const first = await charge('tok_ok');
        const second = await charge('tok_ok');
        expect(second).toEqual(first);
        expect(await listed()).toHaveLength(1);
      });

      test('creates one charge for twenty concurrent sends of one key, and returns it to every sender', async () => {
        const answers = await Promise.all(Array.from({ length: 20 }, () => charge('tok_ok')));
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
        expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
        expect(await listed()).toHaveLength(1);
      });

      test('returns 422 for a known key with a different body, and charges nothing', async () => {
        await charge('tok_ok');
        const answer = await post('/charges', order({ amount: 1 }), key);
        expect(answer.status).toBe(422);
        expect(errorIn(answer).code).toBe('idempotency_key_mismatch');
        expect(await listed()).toHaveLength(1);
      });

      test('charges one of two concurrent requests with one key and different bodies, and refuses the other', async () => {
        const answers = await Promise.all([charge('tok_ok'), post('/charges', order({ amount: 1 }), key)]);
        expect(statusesOf(answers)).toEqual([201, 422]);
        expect(await listed()).toHaveLength(1);
      });

      test('ignores the order of a body’s fields', async () => {
        const first = await charge('tok_ok');
        const { amount, metadata, ...rest } = order();
        expect(await post('/charges', { metadata, ...rest, amount }, key)).toEqual(first);
      });

      test('creates a separate charge for each request without a key', async () => {
        await post('/charges', order());
        await post('/charges', order());
        expect(await listed()).toHaveLength(2);
      });

      test('lists all charges of a payment, however many', async () => {
        const count = 130;
        for (let made = 0; made < count; made += 10) await bookCharges(sandbox.books, 10, { payment });
        const ids = (await listed()).map(({ id }) => id);
        expect(new Set(ids).size).toBe(count);
      });

      test('forgets a key after 24 hours: the same key charges again, and a look-up by the key returns both charges', async () => {
        await charge('tok_ok');
        sandbox.advance(DAY_MS - 1);
        await charge('tok_ok');
        expect(await listed({ key })).toHaveLength(1);
        sandbox.advance(1);
        expect((await charge('tok_ok')).status).toBe(201);
        expect(await listed({ key })).toHaveLength(2);
        await charge('tok_ok');
        expect(await listed({ key })).toHaveLength(2);
      });

      test('finds nothing for an unused key or payment', async () => {
        expect(await listed({ key })).toEqual([]);
        expect(await listed({ payment })).toEqual([]);
      });

      test('does not list a charge under a different payment', async () => {
        await charge('tok_ok');
        expect(await listed({ payment: `${payment}x` })).toEqual([]);
      });
    });

    describe('with magic sources,', () => {
      test('returns 402 for tok_declined, lists the charge as declined, and finds it by its key', async () => {
        const answer = await charge('tok_declined');
        expect(answer.status).toBe(402);
        const error = errorIn(answer);
        expect(error.code).toBe('card_declined');
        expect(await listed({ key })).toEqual([
          expect.objectContaining({ id: error.charge, status: 'declined', amount_captured: 0 }),
        ]);
        expect(await charge('tok_declined')).toEqual(answer);
        expect(await listed()).toHaveLength(1);
      });

      test('charges tok_slow, and responds after 3 seconds', async () => {
        expect((await charge('tok_slow')).status).toBe(201);
        expect(sandbox.waits).toEqual([3_000]);
      });

      test('returns 500 and does not charge for the first request with tok_flaky, then returns 201 with one charge', async () => {
        expect((await charge('tok_flaky')).status).toBe(500);
        expect(await listed()).toHaveLength(0);
        expect((await charge('tok_flaky')).status).toBe(201);
        expect(await listed()).toHaveLength(1);
      });

      test('returns 429 with Retry-After and does not charge for the first request with tok_rate_limited, then returns 201', async () => {
        const first = await charge('tok_rate_limited');
        expect(first.status).toBe(429);
        expect(first.headers['retry-after']).toBe('1');
        expect(await listed()).toHaveLength(0);
        expect((await charge('tok_rate_limited')).status).toBe(201);
      });

      test('charges for the first request with tok_timeout_charged but returns 504 after 15 seconds, then 201 with that charge', async () => {
        expect((await charge('tok_timeout_charged')).status).toBe(504);
        expect(sandbox.waits).toEqual([15_000]);
        const [made] = await listed({ key });
        const second = await charge('tok_timeout_charged');
        expect(second.status).toBe(201);
        expect(chargeIn(second).id).toBe(made?.id);
        expect(sandbox.waits).toEqual([15_000]);
      });

      test('returns 504 after 15 seconds and does not charge for the first request with tok_timeout_not_charged, then 201', async () => {
        expect((await charge('tok_timeout_not_charged')).status).toBe(504);
        expect(sandbox.waits).toEqual([15_000]);
        expect(await listed({ key })).toHaveLength(0);
        expect((await charge('tok_timeout_not_charged')).status).toBe(201);
        expect(await listed()).toHaveLength(1);
      });

      test('charges for the first request with tok_malformed but returns invalid JSON, then returns 201 with that charge', async () => {
        const first = await charge('tok_malformed');
        expect(first.status).toBe(201);
        expect((): unknown => JSON.parse(first.body)).toThrow(SyntaxError);
        const [made] = await listed();
        expect(chargeIn(await charge('tok_malformed')).id).toBe(made?.id);
      });

      test('returns 401 for every request with tok_unauthorized, and never charges', async () => {
        expect((await charge('tok_unauthorized')).status).toBe(401);
        expect((await charge('tok_unauthorized')).status).toBe(401);
        expect(await listed()).toHaveLength(0);
      });

      test('refuses an unknown source with 400 invalid_source', async () => {
        const answer = await charge('tok_unknown');
        expect(answer.status).toBe(400);
        expect(errorIn(answer).code).toBe('invalid_source');
        expect(await listed()).toHaveLength(0);
      });

      test('treats every request without a key as a first request', async () => {
        expect((await post('/charges', order({ source: 'tok_flaky' }))).status).toBe(500);
        expect((await post('/charges', order({ source: 'tok_flaky' }))).status).toBe(500);
      });
    });

    describe('injected failures', () => {
      test('make the next two requests behave like the injected source; the third request behaves like its own source', async () => {
        await switchFailures(2, 'tok_flaky');
        expect((await charge('tok_ok')).status).toBe(500);
        expect(JSON.parse((await get('/control/failures')).body)).toEqual({ count: 1, source: 'tok_flaky' });
        expect((await charge('tok_ok')).status).toBe(500);
        expect((await charge('tok_ok')).status).toBe(201);
        expect(await listed()).toHaveLength(1);
      });

      test('fail three of ten concurrent requests if three failures are injected', async () => {
        await switchFailures(3, 'tok_flaky');
        const answers = await Promise.all(Array.from({ length: 10 }, () => post('/charges', order())));
        expect(answers.filter(({ status }) => status === 500)).toHaveLength(3);
        expect(await listed()).toHaveLength(7);
      });

      test('create no second charge if the response to a repeated key is lost', async () => {
        const made = chargeIn(await charge('tok_ok'));
        await switchFailures(1, 'tok_timeout_charged');
        expect((await charge('tok_ok')).status).toBe(504);
        expect(chargeIn(await charge('tok_ok')).id).toBe(made.id);
        expect(await listed()).toHaveLength(1);
      });

      test('fail no request after they are removed', async () => {
        await switchFailures(5, 'tok_flaky');
        await switchFailures(0, 'tok_flaky');
        expect((await charge('tok_ok')).status).toBe(201);
      });
    });
  });

  describeSandboxChanges(booksKind, createBooks);
}
