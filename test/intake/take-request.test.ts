/** Tests the guarantee "requested payments". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { eventOf } from '../../lambdas/events/domain/event.ts';
import { MAX_BODY_BYTES } from '../../lambdas/kernel/contract/limits.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import { RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { detailsOf } from '../../lambdas/payments/domain/transition.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { Api } from '../world/api.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { EVENT_ID, SHOP, SimulatedIntake } from './intake-site.ts';

let site: SimulatedIntake;
beforeEach(() => {
  site = new SimulatedIntake();
});

const json = (changes: Readonly<Record<string, unknown>> = {}) => JSON.stringify(site.request(changes));
const chain = async () => readChain(site.world.store, site.paymentOf());
const HOUR_MS = 3_600_000;

describe('a payment requested by an event', () => {
  test('is charged once when its event arrives repeatedly, over different transports', async () => {
    const times = Array.from({ length: 5 }, (_, minutes) => {
      site.world.clock.advance(60_000 * Math.min(minutes, 1));
      return site.request();
    });
    const [first, second, third, fourth, fifth] = times.map((each) => JSON.stringify(each));
    await site.deliver(site.onSubject(first ?? ''));
    await site.deliver(site.onBus(times[1]));
    await site.deliver(site.inQueue(third ?? ''));
    await site.process()(site.inTopic(fourth, second));
    // UUIDs are case-insensitive.
    await site.deliver(site.onSubject((fifth ?? '').replace(EVENT_ID, EVENT_ID.toUpperCase())));
    expect(site.charged()).toBe(1);
    expect(site.batches).toEqual([
      ['done'],
      ['done_before'],
      ['done_before'],
      ['done_before', 'done_before'],
      ['done_before'],
    ]);
    expect(site.queues).toEqual({ requests: [], parked: [] });
  });

  test('keeps its record open after a failure; a redelivery with a different timestamp completes the record', async () => {
    const { clock, store } = site.world;
    const record = () => store.readRecord(chargeOperation(site.paymentOf()));
    const api = new Api({}, site.world);
    for (const tenant of ['ten_shop', 'ten_other'])
      api.registerKey(`sk_test_of_the_tenant_${tenant}`, { tenantId: tenantId(tenant) });
    const shown = async (tenant = 'ten_shop', id = EVENT_ID) => {
      const headers = { Authorization: `Bearer sk_test_of_the_tenant_${tenant}` };
      const { status, body } = await api.get(`/v1/payment_requests/${id}`, { headers });
      return status === 200 ? [body['status'], body['changed'], body['payment']] : [body['code']];
    };
    const seconds = (ms: number) => Math.floor(ms / 1000);
    expect(await shown()).toEqual(['not_found']);
    const beganMs = clock.nowMs() + 1_000;
    const away = () => Promise.reject(new RetryableError('processor_unavailable', 'the processor is unavailable'));
    clock.advance(1_000);
    const failing = { processor: { ...createSandboxInProcess({ clock }), charge: away } };
    await site.deliver(site.inQueue(json()), failing);
    expect(await record()).toMatchObject({ status: 'INPROGRESS', released: true, changedAtMs: beganMs });
    expect(await shown()).toEqual(['failed', seconds(beganMs), site.paymentOf()]);
    expect(await shown('ten_other')).toEqual(['not_found']);
    expect(await shown('ten_shop', 'x')).toEqual(['not_found']);

    clock.advance(1_000);
    await site.deliver(site.inQueue(json()));
    expect(await record()).toMatchObject({ status: 'COMPLETED', claimedAtMs: beganMs, changedAtMs: clock.nowMs() });

    clock.advance(1_000);
    await site.deliver(site.inQueue(json()));
    expect(await record()).toMatchObject({ changedAtMs: beganMs + 1_000 });
    expect(await shown('ten_shop', EVENT_ID.toUpperCase())).toEqual([
      'completed',
      seconds(beganMs) + 1,
      site.paymentOf(),
    ]);

    clock.advance(9 * 24 * HOUR_MS);
    store.deleteRecord(chargeOperation(site.paymentOf()));
    expect(await shown()).toEqual(['completed', null, site.paymentOf()]);
  });

  test('is shown as pending while its owner calls the processor', async () => {
    const { clock } = site.world;
    const api = new Api({}, site.world);
    api.registerKey('sk_test_of_the_tenant_ten_shop', { tenantId: SHOP.tenantId });
    const headers = { Authorization: 'Bearer sk_test_of_the_tenant_ten_shop' };
    const seen: unknown[] = [];
    const sandbox = createSandboxInProcess({ clock });
    const charge: typeof sandbox.charge = async (...asked) => {
      seen.push((await api.get(`/v1/payment_requests/${EVENT_ID}`, { headers })).body['status']);
      return sandbox.charge(...asked);
    };
    await site.deliver(site.inQueue(json()), { processor: { ...sandbox, charge } });
    expect(seen).toEqual(['pending']);
  });

  test('has the tenant and mode of the sender, and names the event as its cause', async () => {
    await site.deliver(site.inQueue(json({ metadata: { order: '6735' }, reference: 'order-6735', capture: 'manual' })));
    const found = await chain();
    expect(found?.newest.payment).toMatchObject({
      ...SHOP,
      amountMinor: 1000,
      capture: 'manual',
      reference: 'order-6735',
      status: 'requires_capture',
    });
    expect(found?.newest.cause).toEqual({ by: 'event', eventId: EVENT_ID, sender: 'queue:shop' });
  });

  test('leads to events whose causation_id is the id of the event that requested the payment', async () => {
    await site.deliver(site.inQueue(json()));
    const { newest, first } = (await chain()) ?? {};
    if (newest === undefined || first === undefined) throw new Error('the payment does not exist');
    expect(eventOf(systemDigest, newest, detailsOf(first)).event).toMatchObject({
      type: 'payment.completed',
      causation_id: EVENT_ID,
    });
  });

  test('is completed as failed when declined, and is not retried', async () => {
    await site.deliver(site.inQueue(json({ account_from: 'tok_declined' })));
    await site.deliver(site.inQueue(json({ account_from: 'tok_declined' })));
    expect((await chain())?.newest.payment.status).toBe('failed');
    expect(site.world.processor.inside.sent.filter(({ kind }) => kind === 'charge')).toHaveLength(1);
    expect(site.batches).toEqual([['done'], ['done_before']]);
  });

  test('is separate from a payment of another tenant with the same event id', async () => {
    const other = { ...SHOP, tenantId: tenantId('ten_other') };
    await site.deliver(site.onSubject(json()));
    await site.deliver(site.onSubject(json({ account_to: 'ten_other' }), 'payments.other'));
    expect([site.charged(), site.charged(EVENT_ID, other)]).toEqual([1, 1]);
  });
});

describe('an event that cannot be accepted is parked with its reason, and acknowledged:', () => {
  const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, string, string])[] = [
    [
      'a different amount under the same id',
      { amount: 1001 },
      'changed',
      'another request with this event_id was accepted',
    ],
    ['an account other than its sender’s', { account_to: 'ten_other' }, 'wrong_account', 'account_to'],
    ['an unknown field', { tenant: 'ten_other' }, 'malformed', 'unknown_field: tenant'],
    ['an id that is not a UUID', { event_id: '17' }, 'malformed', 'event_id'],
    ['an amount that is not a whole number', { amount: 10.5 }, 'malformed', 'amount'],
    ['an amount beyond the limit of its currency', { amount: 99_999_999_999, currency: 'JPY' }, 'malformed', 'amount'],
    ['a malformed time', { timestamp: 'yesterday' }, 'malformed', 'timestamp'],
  ];
  test.each(cases)('%s', async (_name, changes, reason, detail) => {
    await site.deliver(site.inQueue(json()));
    expect(await site.deliver(site.inQueue(json(changes)))).toEqual([]);
    expect(site.queues.parked).toMatchObject([{ body: json(changes), attributes: { reason, sender: 'queue:shop' } }]);
    expect(site.queues.parked[0]?.attributes['detail']).toContain(detail);
    expect(site.charged()).toBe(1);
  });

  test('an event whose tenant does not exist is parked over each transport, and nothing is charged', async () => {
    const isTenant = async () => false;
    const { record } = { record: json() };
    const ofUnknown = [site.onBus(site.request()), site.inQueue(record), site.onSubject(record)];
    expect(await site.deliver(ofUnknown, { isTenant })).toEqual([]);
    await site.process({ isTenant })(site.inTopic(record));
    expect(site.parkedReasons).toEqual(Array.from({ length: 4 }, () => 'unknown_tenant'));
    expect(site.queues.parked[0]?.attributes['detail']).toContain('ten_shop, which does not exist');
    expect([site.charged(), await chain()]).toEqual([0, undefined]);
    // The tenant was created in the meantime, and an operator redrives the event.
    await site.deliver(site.inQueue(record));
    expect(site.charged()).toBe(1);
  });

  test('an event that is not JSON, not text, or empty is parked unchanged', async () => {
    const bytes = Uint8Array.of(0xff, 0x00, 0x7b);
    await site.deliver([site.inQueue('{"event_id":'), site.onSubject(bytes), site.onSubject(new Uint8Array())]);
    expect(site.parkedReasons).toEqual(['malformed', 'malformed', 'malformed']);
    expect(site.queues.parked.map(({ body, attributes }) => [body, attributes['encoding']])).toEqual([
      ['{"event_id":', undefined],
      [Buffer.from(bytes).toString('base64'), 'base64'],
      ['=', 'base64'],
    ]);
  });

  test.each([
    ['a number that is too large', '"amount":9007199254740993'],
    ['a key twice', '"amount":1000,"amount":1000'],
    ['the key __proto__', '"amount":1000,"__proto__":{}'],
    ['too many levels', `"amount":1000,"metadata":${'['.repeat(20)}${']'.repeat(20)}`],
  ])('an event on the bus with %s is parked as malformed, also after it is redriven', async (_what, written) => {
    const event = site.onBus(site.request());
    await site.deliver({ ...event, body: event.body.replace('"amount":1000', written) });
    await site.deliver(site.queues.parked.map((each) => site.record(each)));
    const attributes = { reason: 'malformed', sender: 'bus:payonce.requests:111122223333' };
    expect(site.queues.parked).toMatchObject([{ attributes }, { attributes }]);
    expect(site.charged()).toBe(0);
  });

  test('an event whose sender is not configured is parked as unknown_sender', async () => {
    await site.deliver([
      site.onSubject(json(), 'payments.stranger'),
      site.onBus(site.request(), { account: '999999999999' }),
    ]);
    expect(site.parkedReasons).toEqual(['unknown_sender', 'unknown_sender']);
    expect(site.charged()).toBe(0);
  });

  test.each([
    ['no-break spaces', '4242\u00a04242\u00a04242\u00a04242'],
    ['no-break hyphens', '4242\u20114242\u20114242\u20114242'],
    ['full-width digits', '\uff14\uff12'.repeat(8)],
    ['Arabic digits', '\u0664\u0662'.repeat(8)],
    ['escapes', String.raw`\u0034\u0032`.repeat(8)],
  ])('invalid JSON that contains a card number with %s is parked without its text', async (_form, number) => {
    const twice = json({ reference: number }).replace('{', '{"reference":"a",').replaceAll('\\\\u', '\\u');
    await site.deliver(site.onSubject(twice));
    expect(site.parkedReasons).toEqual(['malformed']);
    expect(site.queues.parked.map(({ body }) => body)).toEqual(['=']);
  });

  test.each([
    ['in a field', { account_from: '4242424242424242' }],
    ['in metadata', { metadata: { note: 'card 4242 4242 4242 4242' } }],
  ])('a card number %s is not stored in any queue or table', async (_where, changes) => {
    await site.deliver([site.inQueue(json(changes)), site.onSubject(`not JSON ${json(changes)}`)]);
    await site.deliver(site.onSubject(json(changes).replace('4242', String.raw`42\u00342`), 'payments.stranger'));
    expect(site.parkedReasons).toEqual(['malformed', 'malformed', 'unknown_sender']);
    expect(JSON.stringify([site.queues, site.runs])).not.toMatch(/4242|u0034/);
    expect(await chain()).toBeUndefined();
  });

  test('an event is parked as expired if its own timestamp, or the time at which its transport received it, is too long ago', async () => {
    const late = json();
    const record = site.inQueue(json({ timestamp: '2030-01-01T00:00:00+01:00' }));
    site.world.clock.advance(24 * HOUR_MS + 1);
    expect(await site.deliver([site.inQueue(late), record])).toEqual([]);
    expect(site.parkedReasons).toEqual(['expired', 'expired']);
    expect(site.charged()).toBe(0);
  });

  test('an event whose reference is in use is parked as refused', async () => {
    await site.deliver(site.inQueue(json({ reference: 'order-6735' })));
    const other = json({ reference: 'order-6735', event_id: 'b0ef0b1e-8a3d-4c35-8f53-2f6d7e2f0c11' });
    await site.deliver(site.inQueue(other));
    expect(site.queues.parked).toMatchObject([{ attributes: { reason: 'refused' } }]);
    expect(site.queues.parked[0]?.attributes['detail']).toContain('reference_already_used');
  });
});

describe('an event that is delivered again', () => {
  test('is recognized as a duplicate, however late, if it was first accepted in time', async () => {
    const record = json();
    await site.deliver(site.inQueue(record));
    site.world.clock.advance(40 * 24 * HOUR_MS);
    await site.deliver(site.inQueue(record));
    expect(site.batches).toEqual([['done'], ['done_before']]);
    expect(site.charged()).toBe(1);
  });

  test('keeps its original sender when it is redriven from the parking queue', async () => {
    await site.deliver(site.onSubject(json({ reference: 'order-1' })), {
      processor: 'no_processor_for_payment',
      choose: () => 'no_processor_for_payment',
    });
    expect(site.parkedReasons).toEqual(['refused']);
    site.queues.requests = site.queues.parked.splice(0);
    expect(await site.takeDue()).toBe(1);
    expect(site.charged()).toBe(1);
  });
});

describe('an event that must wait', () => {
  test('is redelivered while its tenant exceeds its limit, and is then charged', async () => {
    const asked: unknown[] = [];
    site.limits = {
      admit: async (bucket) => {
        asked.push(bucket);
        const limit = { rate: 1, burst: 1 };
        return asked.length < 3 ? { kind: 'limited', limit, retryAfterMs: 500 } : { kind: 'admitted' };
      },
    };
    expect(await site.deliver(site.inQueue(json()))).toEqual([]);
    expect(await site.takeDue()).toBe(0);
    for (let waits = 0; waits < 3; waits += 1) {
      site.world.clock.advance(20_000);
      await site.takeDue();
    }
    expect(asked).toEqual(Array.from({ length: 3 }, () => ({ ...SHOP, kind: 'payments' })));
    expect(site.charged()).toBe(1);
    expect(site.batches.flat()).toEqual(['busy', 'busy', 'done']);
  });

  test('is redelivered after the lease of another delivery expires', async () => {
    const { store } = site.world;
    const dead = { ...site.world.tools.processor, charge: () => Promise.reject(new Error('the process crashed')) };
    await site.deliver(site.inQueue(json()), { processor: dead });
    expect(await store.readRecord(chargeOperation(site.paymentOf()))).toMatchObject({
      status: 'INPROGRESS',
      released: false,
    });
    expect(await site.deliver(site.inQueue(json()))).toEqual([]);
    expect(site.batches.at(-1)).toEqual(['busy']);
    site.world.clock.advance(26_000);
    expect(await site.takeDue()).toBe(1);
    expect(site.charged()).toBe(1);
  });
});

describe('an event id whose record has expired', () => {
  const terms = { metadata: { order: '6735' } };
  beforeEach(async () => {
    await site.deliver(site.inQueue(json(terms)));
    site.world.clock.advance(9 * 24 * HOUR_MS);
  });

  test('is recognized as a duplicate when the same request is redelivered', async () => {
    await site.deliver(site.inQueue(json(terms)));
    expect([site.batches.at(-1), site.queues.parked, site.charged()]).toEqual([['done_before'], [], 1]);
  });

  test.each([
    ['amount', { ...terms, amount: 1001 }],
    ['metadata', { metadata: { order: '6736' } }],
  ])('cannot be used by a different request; that request is parked: different %s', async (_what, changes) => {
    await site.deliver(site.inQueue(json(changes)));
    expect([site.parkedReasons, site.charged()]).toEqual([['changed'], 1]);
  });
});

describe('a payload that is too long', () => {
  // A search for card numbers in a megabyte of digits takes seconds. A batch with such payloads would time out at each
  // delivery and stop its partition.
  test('is truncated and parked; only the truncated text is searched for card numbers', async () => {
    const kept = 'x'.repeat(MAX_BODY_BYTES + 1);
    await site.process()(site.inTopic(`${kept} 4242 4242 4242 4242`, `4242 4242 4242 4242 ${kept}`));
    expect(site.parkedReasons).toEqual(['malformed', 'malformed']);
    expect(site.queues.parked.map(({ body }) => body)).toEqual([kept, '=']);
  });
});

describe('a batch that was redelivered often', () => {
  test('is processed as far as its time allows, with at least one message per delivery', async () => {
    const ids = ['a', 'b', 'c'].map((letter) => `0b9c2f60-7d5a-4a7e-9a53-0d6f2f7c1e1${letter}`);
    const sandbox = createSandboxInProcess({ clock: site.world.clock });
    const charge: typeof sandbox.charge = async (...asked) => {
      site.world.clock.advance(2_000);
      return sandbox.charge(...asked);
    };
    let waiting: readonly string[] = ids;
    for (const receives of [3, 4, 5]) {
      const records = waiting.map((event_id) => ({ ...site.record({ body: '' }, receives), body: json({ event_id }) }));
      const endsAtMs = site.world.clock.nowMs() + PAYMENTS_TIMEOUT_SECONDS * 1000;
      const inShop = records.map((each) => ({ ...each, eventSourceARN: site.inQueue('').eventSourceARN }));
      const answer = await site.process({ processor: { ...sandbox, charge } })(
        { Records: inShop },
        { getRemainingTimeInMillis: () => endsAtMs - site.world.clock.nowMs() },
      );
      const again = new Set(answer?.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
      waiting = waiting.filter((_, index) => again.has(inShop[index]?.messageId ?? ''));
    }
    expect(waiting).toEqual([]);
    expect(site.batches.map((batch) => batch.filter((result) => result === 'done').length)).toEqual([1, 1, 1]);
  });
});

describe('an event that failed for a reason outside the request', () => {
  test('is redelivered and completed', async () => {
    const away = () => Promise.reject(new RetryableError('processor_unavailable', 'the processor is unavailable'));
    const sandbox = createSandboxInProcess({ clock: site.world.clock });
    const first = site.inQueue(json());
    expect(await site.deliver(first, { processor: { ...sandbox, charge: away } })).toEqual([first.messageId]);
    expect(await site.world.store.readRecord(chargeOperation(site.paymentOf()))).toMatchObject({ released: true });
    expect(await site.deliver(site.inQueue(json()))).toEqual([]);
    expect(site.charged()).toBe(1);
  });

  test('is parked after the fifth failure when the code fails each time', async () => {
    const broken = { limits: { admit: () => Promise.reject(new Error('a bug')) } };
    expect(await site.deliver(site.inQueue(json()), broken)).toEqual([]);
    for (const failures of [1, 2, 3, 4]) {
      expect(site.queues.requests).toMatchObject([{ attributes: { sender: 'queue:shop', failures: `${failures}` } }]);
      expect(site.parkedReasons).toEqual([]);
      site.world.clock.advance(180_000);
      await site.takeDue(broken);
    }
    expect(site.queues.requests).toEqual([]);
    expect(site.queues.parked).toMatchObject([{ attributes: { reason: 'failed', detail: 'Error' } }]);
    expect(site.queues.parked[0]?.attributes).not.toHaveProperty('failures');
  });

  test('has a failure count that does not depend on the receive count, on outages, or on a count that the sender supplied', async () => {
    const broken = { limits: { admit: () => Promise.reject(new Error('a bug')) } };
    const waited = {
      ...site.record({ body: json(), attributes: { failures: '4' } }, 100),
      eventSourceARN: 'arn:x:shop',
    };
    const ofShop = { ...waited, eventSourceARN: site.inQueue('').eventSourceARN };
    expect(await site.deliver(ofShop, broken)).toEqual([]);
    expect(site.queues).toMatchObject({ requests: [{ attributes: { failures: '1' } }], parked: [] });
    const away = () => Promise.reject(new RetryableError('store_throttled', 'busy'));
    const store = Object.assign(Object.create(site.world.store) as typeof site.world.store, {
      readRecord: away,
      claim: away,
    });
    expect(await site.deliver(ofShop, { store })).toHaveLength(1);
    expect(site.queues).toMatchObject({ requests: [{}], parked: [] });
  });

  test('keeps its failure count while its tenant exceeds the limit', async () => {
    const failed = site.record({ body: json(), attributes: { sender: 'queue:shop', failures: '3' } });
    await site.deliver(failed, {
      limits: { admit: async () => ({ kind: 'limited', limit: { rate: 1, burst: 1 }, retryAfterMs: 1_000 }) },
    });
    expect(site.queues.requests).toMatchObject([{ attributes: { failures: '3' } }]);
  });

  test('is parked when its own failure count reaches the limit, regardless of the queue’s receive count, and does not block its batch', async () => {
    const ids = ['1', '2', '3', '4'].map((digit) => EVENT_ID.replace('0', digit));
    const [poison = ''] = ids;
    const { processor } = site.world;
    const charge: typeof processor.charge = async (order, limit) => {
      if (order.paymentId !== site.paymentOf(poison)) return processor.charge(order, limit);
      throw new TerminalError('processor_request_invalid', 'nothing was sent');
    };
    const changes = { processor: { ...processor, charge } };
    const records = ids.map((event_id) => ({
      ...site.record({ body: json({ event_id }) }, 4),
      eventSourceARN: site.inQueue('').eventSourceARN,
    }));
    expect(await site.deliver(records, changes)).toEqual([]);
    expect(ids.map((id) => site.charged(id))).toEqual([0, 1, 1, 1]);
    for (let deliveries = 0; deliveries < 20 && site.queues.requests.length > 0; deliveries += 1) {
      site.world.clock.advance(60_000);
      await site.takeDue(changes);
    }
    expect(site.parkedReasons).toEqual(['failed']);
    expect(site.queues.parked).toMatchObject([{ attributes: { detail: 'processor_request_invalid' } }]);
  });

  test('does not cause the other events of its batch to be dead-lettered if it crashes the process', async () => {
    const ids = ['1', '2', '3', '4'].map((digit) => EVENT_ID.replace('0', digit));
    const killer = ids[2] ?? '';
    const left = new Set(ids);
    for (let receives = 1; receives < 20 && left.size > 1; receives += 1) {
      site.world.clock.advance(180_000);
      const records = [...left].map((id) => ({
        ...site.record({ body: json({ event_id: id }) }, receives),
        eventSourceARN: site.inQueue('').eventSourceARN,
        messageId: id,
        receiptHandle: id,
      }));
      let ends: () => void = () => undefined;
      const end = new Promise<void>((resolve) => {
        ends = resolve;
      });
      const { processor } = site.world;
      const charge: typeof processor.charge = (order, limit) => {
        if (order.paymentId !== site.paymentOf(killer)) return processor.charge(order, limit);
        ends();
        return new Promise(() => undefined);
      };
      await Promise.race([site.deliver(records, { processor: { ...processor, charge } }), end]);
      for (const id of site.acknowledged) left.delete(id);
    }
    expect([...left]).toEqual([killer]);
    expect(ids.map((id) => site.charged(id))).toEqual([1, 1, 0, 1]);
  });
});

test('a malformed event that cannot be parked stays in the queue, and the valid event after it is charged once', async () => {
  site.outage = new Error('SQS is unavailable');
  expect(await site.deliver(site.inQueue('not JSON'))).toHaveLength(1);
  await expect(site.process()(site.inTopic('not JSON', json()))).rejects.toThrow('SQS is unavailable');
  expect(site.charged()).toBe(1);
});

describe('the handler of a Kafka batch', () => {
  test('charges each event once if the batch is redelivered in a different order', async () => {
    const ids = ['1', '2', '3'].map((digit) => EVENT_ID.replace('0', digit));
    const values = ids.map((event_id) => json({ event_id }));
    await site.process()(site.inTopic(...values));
    await site.process()(site.inTopic(...values.toReversed()));
    expect(ids.map((id) => site.charged(id))).toEqual([1, 1, 1]);
  });

  test('parks a poison record, or a record without a value, and continues after it', async () => {
    await site.process()(site.inTopic('poison', undefined, json()));
    expect(site.parkedReasons).toEqual(['malformed', 'malformed']);
    expect(site.charged()).toBe(1);
  });

  test('enqueues a record that cannot be accepted now; the queue then redelivers it', async () => {
    const away = { admit: () => Promise.reject(new Error('a bug')) };
    await site.process({ limits: away })(site.inTopic(json()));
    expect(site.queues.requests).toMatchObject([{ attributes: { sender: 'topic:payments' } }]);
    site.world.clock.advance(30_000);
    await site.takeDue();
    expect(site.charged()).toBe(1);
  });
});
