import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { baseAddress } from '../../sandbox/base-address.ts';
import { createSandbox } from '../../sandbox/routes.ts';
import { emptyBooks } from '../world/sandbox-books.ts';
import { callSandbox } from './sandbox-calls.ts';
import { chargeIn, errorIn, sandboxHarness } from './sandbox-harness.ts';
import { createTestSandbox, type TestSandbox } from './sandbox-world.ts';

describe('a charge that requires an action of the payer', () => {
  let sandbox: TestSandbox;
  let harness: ReturnType<typeof sandboxHarness>;

  beforeEach(() => {
    sandbox = createTestSandbox();
    harness = sandboxHarness(sandbox.handler);
  });

  const asked = async (changes: Readonly<Record<string, unknown>> = {}) => {
    const answer = await harness.charge('tok_action', changes);
    expect(answer.status).toBe(201);
    return chargeIn(answer);
  };
  const page = (id: string) => harness.get(`/actions/${id}`);
  const form = (id: string, body: string) =>
    callSandbox(sandbox.handler, {
      method: 'POST',
      path: `/actions/${id}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body,
    });
  const approve = (id: string) => form(id, 'decision=approve');
  const refuse = (id: string) => form(id, 'decision=refuse');

  test('has an absolute action URL under the base URL of the request', async () => {
    const charge = await asked();
    expect(charge).toMatchObject({ status: 'requires_action', amount_captured: 0, failure: null });
    expect(charge.action_url).toBe(`https://sandbox.example/actions/${charge.id}`);
    expect(await harness.types(charge.id)).toEqual(['charge.requires_action']);
  });

  test('has a page whose form sends the browser’s origin, but only to the same origin', async () => {
    const { headers } = await page((await asked()).id);
    // With `no-referrer`, browsers send `Origin: null` with forms (Fetch, "append a request Origin header").
    expect(headers['referrer-policy']).toBe('same-origin');
  });

  test('has a page without external resources', async () => {
    const { id } = await asked();
    const { status, headers, body } = await page(id);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = headers['content-security-policy'] ?? '';
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/]{43}='; form-action 'self';/);
    expect(policy).not.toContain('unsafe');
    // The policy allows exactly the style of the page.
    const style = /<style>([^<]*)<\/style>/.exec(body)?.[1] ?? '';
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(style));
    expect(policy).toContain(Buffer.from(digest).toString('base64'));
    expect(body).not.toMatch(/<script|<link|<img|src=|http|style="| on\w+=/);
    expect(body).toContain('<html lang="en">');
    expect(body).toContain('<button name="decision" value="approve">Approve</button>');
    expect(body).toContain('<button name="decision" value="refuse">Refuse</button>');
    expect(body).toContain(id);
  });

  test.each([
    ['EUR', 1_999, 'EUR 19.99'],
    ['USD', 5, 'USD 0.05'],
    ['JPY', 1_999, 'JPY 1,999'],
    ['KWD', 1_999, 'KWD 1.999'],
    ['HUF', 1_999, 'HUF 19.99'],
    ['IQD', 1_999, 'IQD 1.999'],
    ['EUR', Number.MAX_SAFE_INTEGER, 'EUR 90,071,992,547,409.91'],
  ])('has a page with the amount formatted in %s', async (currency, amount, text) => {
    const { body } = await page((await asked({ currency, amount })).id);
    expect(body.replaceAll('\u00a0', ' ')).toContain(`<dd>${text}</dd>`);
  });

  test('has a page that links the payer to the charge’s return URL, only after the decision', async () => {
    const { id } = await asked({ return_url: 'https://shop.example/done?order=1&x="' });
    expect((await page(id)).body).not.toContain('shop.example');
    for (const answer of [await approve(id), await page(id)]) {
      expect(answer.body).toContain('<a href="https://shop.example/done?order=1&amp;x=&quot;">Back to the shop</a>');
      expect(answer.body).toContain('content="3; url=https://shop.example/done?order=1&amp;x=&quot;"');
    }
    expect((await approve((await asked()).id)).body).not.toContain('http-equiv="refresh"');
  });

  test('has a page with external values as text, never as markup', async () => {
    const { id } = await asked({ metadata: { payment: `<script>alert("1")</script>&'` } });
    for (const answer of [await page(id), await approve(id), await refuse(id)]) {
      expect(answer.body).not.toContain('<script');
      expect(answer.body).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;');
    }
  });

  test('is charged when the payer approves', async () => {
    const charge = await asked();
    const answer = await approve(charge.id);
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.body).toContain('You approved this payment');
    expect(answer.body).not.toContain('<form');
    expect(await harness.read(charge.id)).toEqual({
      ...charge,
      status: 'succeeded',
      amount_captured: 1_999,
      action_url: null,
    });
    expect(await harness.types(charge.id)).toEqual(['charge.requires_action', 'charge.succeeded']);
  });

  test('is authorized when the payer approves and capture is manual', async () => {
    const { id } = await asked({ capture: 'manual' });
    await approve(id);
    expect(await harness.read(id)).toMatchObject({ status: 'authorized', amount_captured: 0, action_url: null });
  });

  test('is declined when the payer refuses', async () => {
    const { id } = await asked();
    const answer = await refuse(id);
    expect(answer.status).toBe(200);
    expect(answer.body).toContain('You refused this payment');
    expect(await harness.read(id)).toMatchObject({
      status: 'declined',
      failure: { code: 'action_refused' },
      action_url: null,
    });
    expect(await harness.types(id)).toEqual(['charge.requires_action', 'charge.declined']);
  });

  test('also accepts the decision as JSON', async () => {
    const { id } = await asked();
    expect((await harness.post(`/actions/${id}`, { decision: 'approve' })).status).toBe(200);
    expect((await harness.read(id)).status).toBe('succeeded');
  });

  test.each([
    ['approve', 'refuse', 'succeeded'],
    ['refuse', 'approve', 'declined'],
  ])('keeps the first decision: %s', async (first, second, status) => {
    const { id } = await asked();
    await form(id, `decision=${first}`);
    const decided = await harness.read(id);
    expect(decided.status).toBe(status);
    expect((await form(id, `decision=${first}`)).status).toBe(200);
    const other = await form(id, `decision=${second}`);
    expect(other.status).toBe(409);
    expect(other.body).toContain(
      first === 'approve' ? 'You approved this payment before' : 'You refused this payment before',
    );
    expect(await harness.read(id)).toEqual(decided);
    expect(await harness.types(id)).toHaveLength(2);
    const after = await page(id);
    expect(after.status).toBe(200);
    expect(after.body).not.toContain('<form');
  });

  test('accepts exactly one of two concurrent decisions', async () => {
    const { id } = await asked();
    const answers = await Promise.all([approve(id), refuse(id)]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect(await harness.types(id)).toHaveLength(2);
  });

  test('accepts a repeated approval even after a void, and still refuses the opposite decision', async () => {
    const { id } = await asked({ capture: 'manual' });
    await approve(id);
    await harness.post(`/charges/${id}/void`);
    expect((await approve(id)).status).toBe(200);
    expect((await refuse(id)).status).toBe(409);
  });

  test.each([
    ['void', 'requested'],
    ['expire', 'abandoned'],
  ])('accepts no decision after the call “%s”, and charges nothing', async (how, reason) => {
    const { id } = await asked();
    await harness.post(how === 'void' ? `/charges/${id}/void` : `/control/charges/${id}/expire`);
    for (const answer of [await approve(id), await refuse(id)]) {
      expect(answer.status).toBe(409);
      expect(answer.body).toContain('This payment was canceled before');
    }
    const after = await page(id);
    expect(after.status).toBe(200);
    expect(after.body).toContain('This payment was canceled');
    expect(after.body).not.toContain('<form');
    expect(await harness.read(id)).toMatchObject({
      status: 'voided',
      void_reason: reason,
      action_url: null,
      amount_captured: 0,
    });
    expect(await harness.types(id)).toEqual(['charge.requires_action', 'charge.voided']);
  });

  test('applies exactly one of a concurrent approval and void', async () => {
    const { id } = await asked();
    const [page_, answer] = await Promise.all([approve(id), harness.post(`/charges/${id}/void`)]);
    expect([page_.status, answer.status]).toEqual(answer.status === 200 ? [409, 200] : [200, 400]);
    expect(await harness.types(id)).toHaveLength(2);
  });

  test.each(['', 'decision=', 'decision=maybe', 'decision=approve&more=1'])(
    'rejects the form %p with 400',
    async (body) => {
      const { id } = await asked();
      const answer = await form(id, body);
      expect([answer.status, errorIn(answer).code]).toEqual([400, 'invalid_request']);
      expect((await harness.read(id)).status).toBe('requires_action');
    },
  );

  test('is the only kind of charge with an approval page; for others, the page and its decisions return 404', async () => {
    const { id } = chargeIn(await harness.charge('tok_ok'));
    for (const unknown of [id, 'ch_none']) {
      for (const answer of [await page(unknown), await approve(unknown), await refuse(unknown)]) {
        expect(answer.status).toBe(404);
        expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      }
    }
    expect((await harness.read(id)).status).toBe('succeeded');
  });
});

describe('the base URL of the sandbox', () => {
  const event = (changes: Readonly<Record<string, unknown>>, headers: Readonly<Record<string, string>> = {}) => ({
    path: '/charges',
    headers,
    requestContext: { apiId: 'abc123', stage: 'live', path: '/live/charges', ...changes },
  });

  test('contains the domain of the API and its stage on AWS', () => {
    const domainName = 'abc123.execute-api.eu-central-1.amazonaws.com';
    expect(baseAddress(event({ domainName }, { Host: 'elsewhere.example' }))).toBe(`https://${domainName}/live`);
  });

  test('has no stage with a custom domain', () => {
    expect(baseAddress(event({ domainName: 'sandbox.example', path: '/charges' }))).toBe('https://sandbox.example');
  });

  test.each(['host', 'Host'])(
    "takes its host from the header %s on the local AWS, and includes the emulator's path",
    (name) => {
      expect(baseAddress(event({}, { [name]: 'localhost:4566' }))).toBe(
        'http://localhost:4566/restapis/abc123/live/_user_request_',
      );
    },
  );

  test('contains the stage if the local AWS is called through an execute-api host', () => {
    const host = 'abc123.execute-api.localhost:4566';
    expect(baseAddress(event({}, { host }))).toBe(`http://${host}/live`);
  });

  test.each([[undefined], [{}], [event({})], [{ path: '/charges', headers: { host: 'localhost' } }]])(
    'is not guessed from %j',
    (unclear) => {
      expect(baseAddress(unclear)).toBeUndefined();
    },
  );

  test('is the configured URL if the request contains none; if neither exists, nothing is charged', async () => {
    const books = emptyBooks();
    const world = {
      books,
      tasks: { enqueue: async () => {} },
      runner: idempotentRunner,
      callbacks: { address: async () => undefined, secret: async () => 's' },
      nowMs: () => 0,
      newId: (prefix: string) => `${prefix}1`,
      wait: async () => {},
    };
    const request = {
      method: 'POST',
      body: JSON.stringify({
        amount: 1,
        currency: 'EUR',
        source: 'tok_action',
        capture: 'automatic',
        metadata: { payment: 'p' },
      }),
    };
    const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const refused = await createSandbox(world).request('/charges', request);
    expect(logged).toHaveBeenCalledTimes(1);
    logged.mockRestore();
    expect(refused.status).toBe(500);
    expect(await books.chargesOfPayment('p')).toEqual([]);
    const answer = await createSandbox({ ...world, baseUrl: 'http://localhost:1' }).request('/charges', request);
    expect(await answer.json()).toMatchObject({ action_url: 'http://localhost:1/actions/ch_1' });
  });
});
