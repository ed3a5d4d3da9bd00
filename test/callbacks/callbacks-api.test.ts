/** Tests the guarantee "accepted callbacks". */
import { createHmac } from 'node:crypto';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { OperationPrefix } from '../../lambdas/kernel/contract/rows.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { ALL_DUE } from '../support/due.ts';
import { CALLBACKS, CallbacksClient, eventBody, SECRET } from './callbacks-client.ts';

let site: CallbacksClient;
let charge: string;
const request = paymentRequest('callbacks-api', { source: 'tok_async' });

/** The payment is pending although its charge has succeeded. */
async function open(next = new CallbacksClient()): Promise<void> {
  site = next;
  await site.world.pay(request);
  charge = site.world.chargeOf(request);
  await site.processor.inside.approve(charge);
}
beforeEach(() => open());

const types = () => site.world.typesOf(request);
const MINUTE_MS = 60_000;
const SETTLED = ['payment.created', 'payment.processing', 'payment.completed'];
const WAITING = ['payment.created', 'payment.processing'];

describe('a signed callback', () => {
  test('is recorded once and acknowledged on every delivery', async () => {
    const body = eventBody('evt_1', charge);
    expect(await site.deliver(body)).toMatchObject({ status: 200, body: { received: true } });
    expect(await site.deliver(body)).toMatchObject({ status: 200, body: { received: true } });
    expect(await types()).toEqual(SETTLED);
    expect(site.reports.map(({ counts }) => counts)).toEqual([['callback_recorded'], ['callback_redelivered']]);
  });

  test('has one effect when it is delivered twice concurrently, and both deliveries get 200', async () => {
    const body = eventBody('evt_1', charge);
    const answers = await Promise.all([site.deliver(body), site.deliver(body)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await types()).toEqual(SETTLED);
  });

  test('is stored and acknowledged even if its charge is unknown', async () => {
    expect(await site.deliver(eventBody('evt_1', 'ch_none'))).toMatchObject({ status: 200 });
    expect(site.reports).toMatchObject([{ counts: ['callback_orphaned'], report: { because: ['charge_unknown'] } }]);
    expect(await site.store.waiting('own', ALL_DUE)).toHaveLength(1);
  });

  test('raises the alarm for a late success', async () => {
    await site.processor.inside.correct(charge, { status: 'declined' });
    await site.deliver(eventBody('evt_1', charge));
    await site.processor.inside.approve(charge);
    await site.deliver(eventBody('evt_2', charge));
    expect(site.reports.at(-1)?.counts).toEqual(['callback_recorded']);
    expect(site.alarms.at(-1)).toBe('late_success');
  });

  test('raises the alarm when it contradicts the recorded outcome, and reports the reason and the payment', async () => {
    await site.deliver(eventBody('evt_1', charge));
    await site.processor.inside.correct(charge, { status: 'voided' });
    await site.deliver(eventBody('evt_2', charge));
    expect(site.reports.at(-1)).toMatchObject({
      counts: ['callback_recorded'],
      report: { paymentId: request.paymentId, because: ['a captured charge cannot be voided'] },
    });
    expect(site.alarms).toEqual(['contradiction']);
    await site.deliver(eventBody('evt_3', charge));
    expect(site.alarms).toEqual(['contradiction']);
  });

  test('raises the alarm for a repeated contradiction only once in ten minutes', async () => {
    await site.deliver(eventBody('evt_1', charge));
    const { inside } = site.processor;
    await inside.correct(charge, { status: 'voided', amount_captured: 0 });
    await site.deliver(eventBody('evt_2', charge));
    await inside.correct(charge, { status: 'succeeded', amount_captured: request.amountMinor });
    await site.deliver(eventBody('evt_3', charge));
    site.world.clock.advance(9 * MINUTE_MS);
    await inside.correct(charge, { status: 'voided', amount_captured: 0 });
    await site.deliver(eventBody('evt_4', charge));
    expect(site.alarms).toEqual(['contradiction']);
    site.world.clock.advance(2 * MINUTE_MS);
    expect((await site.deliver(eventBody('evt_4', charge))).status).toBe(200);
    expect(site.alarms).toEqual(['contradiction']);
    await site.deliver(eventBody('evt_5', charge));
    expect(site.alarms).toEqual(['contradiction', 'contradiction']);
  });

  test('raises one alarm for a contradiction that several events report, and another alarm for a new occurrence', async () => {
    await site.deliver(eventBody('evt_1', charge));
    const { inside } = site.processor;
    await inside.correct(charge, { status: 'voided', amount_captured: 0 });
    // The processor reports one change in three events.
    for (const id of ['evt_2', 'evt_3', 'evt_4']) await site.deliver(eventBody(id, charge));
    expect(site.alarms).toEqual(['contradiction']);
    await inside.correct(charge, { status: 'succeeded', amount_captured: request.amountMinor });
    await site.deliver(eventBody('evt_5', charge));
    site.world.clock.advance(60 * MINUTE_MS);
    await inside.correct(charge, { status: 'voided', amount_captured: 0 });
    for (const id of ['evt_6', 'evt_7', 'evt_8']) await site.deliver(eventBody(id, charge));
    expect(site.alarms).toEqual(['contradiction', 'contradiction']);
  });

  test('raises the alarm for a contradiction even if the process crashes right after it records the callback', async () => {
    let dies = false;
    const { promise: written, resolve: hasWritten } = Promise.withResolvers<void>();
    const mortal = new CallbacksClient('sandbox', undefined, (store) => ({
      readEffect: (id) => store.readEffect(id),
      queueOrNote: (entries) => store.queueOrNote(entries),
      listTransitions: (id, page) => store.listTransitions(id, page),
      recordEffect: async (effect) => {
        const outcome = await store.recordEffect(effect);
        const isCallback = effect.record.operationId.startsWith(OperationPrefix.callback);
        return dies && isCallback ? new Promise(() => hasWritten()) : outcome;
      },
    }));
    await open(mortal);
    await site.deliver(eventBody('evt_1', charge));
    await site.processor.inside.correct(charge, { status: 'voided' });
    dies = true;
    void site.deliver(eventBody('evt_2', charge));
    await written;
    expect(site.alarms).toEqual(['contradiction']);
    expect((await site.deliver(eventBody('evt_2', charge))).status).toBe(200);
    expect(site.reports.at(-1)?.counts).toEqual(['callback_redelivered']);
  });

  test.each(['SANDBOX-SIGNATURE', 'sandbox-signature', 'Sandbox-signature'])(
    'is accepted with any letter case in the name of the signature header: %s',
    async (name) => {
      const body = eventBody('evt_1', charge);
      const headers = { [name]: site.sign(Buffer.from(body)) };
      const event = { headers, multiValueHeaders: { [name]: Object.values(headers) } };
      expect((await site.deliver(body, { event })).status).toBe(200);
    },
  );

  test('is accepted if its body is base64 and starts with a byte-order mark that is also signed', async () => {
    const bytes = Buffer.from(`\ufeff${eventBody('evt_1', charge)}`);
    const event = { body: bytes.toString('base64'), isBase64Encoded: true };
    expect((await site.deliver(bytes, { event })).status).toBe(200);
    expect(await types()).toEqual(SETTLED);
  });

  test('gets 503 and is not stored while the books cannot be read, so that the processor redelivers it', async () => {
    await site.processor.inside.goDown();
    const answer = await site.deliver(eventBody('evt_1', charge));
    expect(answer).toMatchObject({ status: 503, headers: { 'Retry-After': '1' } });
    expect(site.stored()).toBe(0);
    await site.processor.inside.recover();
    expect((await site.deliver(eventBody('evt_1', charge))).status).toBe(200);
  });
});

describe('a callback with an invalid signature gets 401, and nothing is stored:', () => {
  const OLD_MS = 301_000;
  const body = () => Buffer.from(eventBody('evt_1', charge));
  const signatures: readonly [string, () => string][] = [
    ['missing a letter', () => site.sign(body()).slice(0, -1)],
    ['by another secret', () => site.sign(body(), 'another')],
    ['of another body', () => site.sign(Buffer.from(eventBody('evt_2', charge)))],
    ['too old', () => site.sign(body(), SECRET, site.clock.nowMs() - OLD_MS)],
    ['too far ahead', () => site.sign(body(), SECRET, site.clock.nowMs() + OLD_MS)],
    ['empty', () => ''],
    ['valid, followed by an invalid one', () => `${site.sign(body())},v1=${'0'.repeat(64)}`],
    ['in another scheme', () => site.sign(body()).replace('v1=', 'v0=')],
  ];

  test.each(signatures)('%s', async (_how, sign) => {
    const answer = await site.deliver(body(), { headers: { 'Sandbox-Signature': sign() } });
    expect(answer).toMatchObject({ status: 401, body: { code: 'invalid_signature' } });
    expect(site.stored()).toBe(0);
    expect(await types()).toEqual(WAITING);
    expect(site.reports.at(-1)?.counts).toEqual(['callback_refused']);
  });

  test('no signature', async () => {
    expect((await site.ask('POST', CALLBACKS, { event: { body: eventBody('evt_1', charge) } })).status).toBe(401);
    expect(site.stored()).toBe(0);
  });

  test('a body that was reserialized with different whitespace', async () => {
    const rewritten = JSON.stringify(JSON.parse(eventBody('evt_1', charge)), undefined, 1);
    expect((await site.deliver(eventBody('evt_1', charge), { event: { body: rewritten } })).status).toBe(401);
  });

  test('the response is the same for every invalid signature', async () => {
    const bodies = new Set<string>();
    for (const [, sign] of signatures) {
      const answer = await site.deliver(body(), { headers: { 'Sandbox-Signature': sign() } });
      bodies.add(JSON.stringify({ ...answer.body, request_id: undefined }));
    }
    expect(bodies.size).toBe(1);
  });
});

describe('signing secrets', () => {
  test('are both accepted while two are configured; a removed one is refused', async () => {
    site.secrets = ['new', SECRET];
    expect((await site.deliver(eventBody('evt_1', charge))).status).toBe(200);
    const signedNew = (id: string) => ({
      headers: { 'Sandbox-Signature': site.sign(Buffer.from(eventBody(id, charge)), 'new') },
    });
    expect((await site.deliver(eventBody('evt_2', charge), signedNew('evt_2'))).status).toBe(200);
    site.secrets = ['new'];
    expect((await site.deliver(eventBody('evt_3', charge))).status).toBe(401);
    expect((await site.deliver(eventBody('evt_3', charge), signedNew('evt_3'))).status).toBe(200);
  });

  test('that cannot be read cause a 503 response, so that the processor redelivers the callback', async () => {
    const secrets = {
      active: () => Promise.reject(new RetryableError('secrets_unavailable', 'no')),
      renewed: async () => undefined,
    };
    await open(new CallbacksClient('sandbox', secrets));
    expect((await site.deliver(eventBody('evt_1', charge))).status).toBe(503);
    expect(site.stored()).toBe(0);
  });
});

describe('other signature schemes verify the same events:', () => {
  test('Stripe’s', async () => {
    await open(new CallbacksClient('stripe'));
    const body = eventBody('evt_1', charge);
    const headers = { 'Stripe-Signature': site.sign(Buffer.from(body)) };
    expect((await site.deliver(body, { headers })).status).toBe(200);
    expect((await site.deliver(body)).status).toBe(401);
  });

  test('Standard Webhooks', async () => {
    await open(new CallbacksClient('standard-webhooks'));
    // The Standard Webhooks package reads the system clock.
    const now = jest.spyOn(Date, 'now').mockReturnValue(site.clock.nowMs());
    const key = Buffer.from('a key of a merchant: 32 bytes...');
    site.secrets = [`whsec_${key.toString('base64')}`];
    const body = eventBody('evt_1', charge);
    const seconds = String(Math.floor(site.clock.nowMs() / 1000));
    const mac = createHmac('sha256', key).update(`msg_1.${seconds}.${body}`).digest('base64');
    const headers = { 'Webhook-Id': 'msg_1', 'Webhook-Timestamp': seconds, 'Webhook-Signature': `v1,${mac}` };
    expect((await site.deliver(body, { headers })).status).toBe(200);
    expect((await site.deliver(body)).status).toBe(401);
    now.mockRestore();
  });
});

describe('invalid requests:', () => {
  test.each([
    ['/callbacks/unknown/test', 'POST', 404],
    ['/callbacks/memory', 'POST', 404],
    ['/callbacks/memory/live', 'POST', 404],
    ['/callbacks', 'POST', 404],
    ['/callbacks/memory/test/deeper', 'POST', 404],
    ['/callbacks/memory/live', 'GET', 404],
    ['/callbacks/memory/test', 'GET', 405],
  ])('%s %s gets %d', async (path, method, status) => {
    const reply = await site.ask(method, path);
    expect([reply.status, reply.headers['Allow']]).toEqual([status, status === 405 ? 'POST' : undefined]);
  });

  test('a duplicate signature header gets 400', async () => {
    const body = eventBody('evt_1', charge);
    const twice = [site.sign(Buffer.from(body)), 'another'];
    const answer = await site.deliver(body, { event: { multiValueHeaders: { 'Sandbox-Signature': twice } } });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(site.stored()).toBe(0);
  });

  test('a body above the size limit gets 413', async () => {
    expect((await site.deliver('x'.repeat(256 * 1024 + 1))).status).toBe(413);
  });

  test.each([
    ['a body that is not JSON', 'x', undefined],
    ['an empty object', '{}', 'id'],
    ['an event of an unknown type', eventBody('evt_1', 'ch_1', { type: 'charge.exploded' as never }), 'type'],
    ['an event of the other mode', eventBody('evt_1', 'ch_1', { livemode: true }), 'livemode'],
    ['an event without a charge', eventBody('evt_1', ''), 'data.charge'],
    ['an event id with a line break', eventBody('a\nb', 'ch_1'), 'id'],
  ])('%s gets 400, and the error names the field, if there is one', async (_what, body, param) => {
    const answer = await site.deliver(body);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(answer.body['param']).toBe(param);
    expect(site.stored()).toBe(0);
  });
});
