import { beforeEach, describe, expect, test } from '@jest/globals';
import { describeSandbox } from '../processors/processor-sandbox-suite.ts';
import { emptyBooks } from '../world/sandbox-books.ts';
import { callSandbox, type SandboxCall } from './sandbox-calls.ts';
import { describeSandboxEvents } from './sandbox-events-suite.ts';
import { createTestSandbox, type TestSandbox } from './sandbox-world.ts';

describeSandbox('memory', async () => emptyBooks());
describeSandboxEvents('memory', async () => emptyBooks());

describe('the requests to the sandbox processor:', () => {
  let sandbox: TestSandbox;

  beforeEach(() => {
    sandbox = createTestSandbox();
  });

  const call = async (sent: SandboxCall) => {
    const answer = await callSandbox(sandbox.handler, sent);
    const body: unknown = JSON.parse(answer.body);
    return { ...answer, body };
  };
  const good = { amount: 100, currency: 'EUR', source: 'tok_ok', capture: 'automatic', metadata: {} };
  const post = (body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    call({ method: 'POST', path: '/charges', headers, body: JSON.stringify(body) });

  test('GET /health returns the status "ok"', async () => {
    expect(await call({ method: 'GET', path: '/health' })).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  test.each([
    ['a fractional amount', { ...good, amount: 1.5 }, 'amount'],
    ['a zero amount', { ...good, amount: 0 }, 'amount'],
    ['a negative amount', { ...good, amount: -1 }, 'amount'],
    ['an amount in text', { ...good, amount: '100' }, 'amount'],
    ['an amount beyond the safe integers', { ...good, amount: 2 ** 53 }, 'amount'],
    ['a currency in lower case', { ...good, currency: 'eur' }, 'currency'],
    ['a missing source', { ...good, source: undefined }, 'source'],
    ['a source of 256 characters', { ...good, source: 't'.repeat(256) }, 'source'],
    ['an unknown capture mode', { ...good, capture: 'later' }, 'capture'],
    ['metadata that is not text', { ...good, metadata: { payment: 1 } }, 'metadata.payment'],
    ['an unknown field', { ...good, extra: 1 }, 'extra'],
    ['a body that is not an object', [good], ''],
  ])('%s is rejected with 400 and the field’s name', async (_what, body, field) => {
    const answer = await post(body);
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ error: { code: 'invalid_request', message: expect.stringContaining(field) } });
  });

  test('a body that is not JSON gets a 400 with the code invalid_json', async () => {
    const answer = await call({ method: 'POST', path: '/charges', body: '{"amount":' });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_json' } } });
  });

  test.each([
    ['an empty key', ''],
    ['a blank key', ' '],
    ['a key with a space', 'a b'],
    ['a key of 256 characters', 'k'.repeat(256)],
  ])('%s gets a 400', async (_what, key) => {
    expect((await post(good, { 'idempotency-key': key })).status).toBe(400);
  });

  test('the key header is case-insensitive', async () => {
    const first = await post(good, { 'IDEMPOTENCY-KEY': 'k1' });
    const second = await post(good, { 'idempotency-key': 'k1' });
    expect(second.body).toEqual(first.body);
  });

  test('a source of 255 characters has a valid length, but is unknown', async () => {
    const answer = await post({ ...good, source: 't'.repeat(255) });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'invalid_source' } } });
  });

  const MONTH_SECONDS = 31 * 24 * 60 * 60;
  const cursor = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url');
  test.each<Readonly<Record<string, string>>>([
    {},
    { key: 'k', payment: 'p' },
    { key: 'k', created_from: '0', created_to: '1' },
    { created_from: '0' },
    { created_to: '1' },
    { key: 'k', cursor: cursor([0, 'ch_1']) },
    { created_from: '-1', created_to: '1' },
    { created_from: '0.5', created_to: '1' },
    { created_from: '2026-01-01', created_to: '2026-01-02' },
    { created_from: '2', created_to: '1' },
    { created_from: '0', created_to: String(MONTH_SECONDS + 1) },
    { created_from: '253402300799', created_to: '253402300800' },
    { created_from: '0', created_to: '1', cursor: 'nonsense' },
    { created_from: '0', created_to: '1', cursor: cursor(['ch_1', 0]) },
    { created_from: '0', created_to: '1', cursor: cursor([0, 'ch_1#x']) },
    { created_from: '0', created_to: '1', cursor: cursor([1, 'ch_1']) },
    { created_from: '1', created_to: '2', cursor: cursor([0, 'ch_1']) },
  ])('a list with the filters %j gets a 400', async (query) => {
    expect(await call({ method: 'GET', path: '/charges', query })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_request' } },
    });
  });

  test('a list of 31 days is allowed', async () => {
    const query = { created_from: '0', created_to: String(MONTH_SECONDS) };
    expect(await call({ method: 'GET', path: '/charges', query })).toMatchObject({
      status: 200,
      body: { data: [], next: null },
    });
  });

  test('failures cannot be switched on for an unknown source', async () => {
    const body = JSON.stringify({ count: 1, source: 'tok_none' });
    expect(await call({ method: 'PUT', path: '/control/failures', body })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_source' } },
    });
  });

  test('an unknown route gets a 404', async () => {
    expect(await call({ method: 'GET', path: '/nothing' })).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    });
  });

  test.each([
    ['DELETE', '/charges', 'GET, POST'],
    ['PUT', '/charges/ch_1', 'GET'],
    ['GET', '/charges/ch_1/capture', 'POST'],
    ['GET', '/charges/ch_1/refunds', 'POST'],
    ['POST', '/control/failures', 'GET, PUT'],
    ['POST', '/health', 'GET'],
    ['PUT', '/actions/ch_1', 'GET, POST'],
    ['POST', '/events', 'GET'],
    ['GET', '/control/events/evt_1/resend', 'POST'],
    ['GET', '/control/charges/ch_1/dispute', 'POST'],
    ['GET', '/control/charges/ch_1/expire', 'POST'],
    ['GET', '/control/disputes/dp_1/close', 'POST'],
    ['GET', '/control/refunds/re_1/fail', 'POST'],
  ])('%s %s gets a 405 with the allowed methods', async (method, path, allow) => {
    const answer = await call({ method, path });
    expect(answer).toMatchObject({ status: 405, body: { error: { code: 'method_not_allowed' } } });
    expect(answer.headers['allow']).toBe(allow);
  });
});
