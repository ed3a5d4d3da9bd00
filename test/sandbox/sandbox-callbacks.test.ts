import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { chargeIn, eventIn, listIn, sandboxHarness } from './sandbox-harness.ts';
import { type Receiver, serveReceiver, verifiedSeconds } from './sandbox-receiver.ts';
import { createTestSandbox, SANDBOX_SECRET, SANDBOX_START_MS, type TestSandbox } from './sandbox-world.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600 * SECOND_MS;
/** Waits between the 20 attempts, in seconds. */
const GROWING_WAITS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900, 900, 900, 900, 900, 900, 900];

describe('callbacks of the sandbox processor', () => {
  let receiver: Receiver;
  let sandbox: TestSandbox;
  let harness: ReturnType<typeof sandboxHarness>;

  beforeEach(async () => {
    receiver = await serveReceiver();
    sandbox = createTestSandbox();
    sandbox.address = receiver.url;
    harness = sandboxHarness(sandbox.handler);
  });
  afterEach(async () => {
    await receiver[Symbol.asyncDispose]();
  });

  const captured = async () => chargeIn(await harness.charge('tok_ok')).id;
  const waits = () => sandbox.queued.map(({ delaySeconds }) => delaySeconds);
  const onlyEvent = async (chargeId: string) => {
    const [event, ...more] = await harness.events(chargeId);
    if (event === undefined || more.length > 0) throw new Error('the charge has no event or several events');
    return event;
  };

  describe('a delivery', () => {
    test('posts the event as JSON to the callback URL, and is recorded when accepted', async () => {
      const id = await captured();
      expect(receiver.arrivals).toEqual([]);
      await sandbox.runDue();
      const [arrival, ...more] = receiver.arrivals;
      expect(more).toEqual([]);
      expect(arrival).toMatchObject({ method: 'POST', path: '/callbacks/sandbox', contentType: 'application/json' });
      const { attempts, delivered, ...event } = await onlyEvent(id);
      expect(arrival?.event).toEqual(event);
      expect([attempts, delivered]).toEqual([1, true]);
    });

    test('is signed over its raw bytes with the secret, and no other secret verifies it', async () => {
      await harness.charge('tok_ok', { metadata: { payment: 'pay_ä€😀' } });
      await sandbox.runDue();
      const [arrival] = receiver.arrivals;
      if (arrival === undefined) throw new Error('nothing arrived');
      expect(await verifiedSeconds(arrival, SANDBOX_SECRET)).toBe(SANDBOX_START_MS / SECOND_MS);
      expect(await verifiedSeconds(arrival, 'another secret')).toBeUndefined();
      const forged = { ...arrival, rawBody: arrival.rawBody.replace('pay_', 'pay-') };
      expect(await verifiedSeconds(forged, SANDBOX_SECRET)).toBeUndefined();
    });

    test('has a new timestamp but the same event id when it is resent', async () => {
      receiver.statuses.push(500, 503);
      await captured();
      await sandbox.runFor(3 * SECOND_MS);
      const start = SANDBOX_START_MS / SECOND_MS;
      expect(await Promise.all(receiver.arrivals.map((arrival) => verifiedSeconds(arrival, SANDBOX_SECRET)))).toEqual([
        start,
        start + 1,
        start + 3,
      ]);
      expect(new Set(receiver.arrivals.map(({ rawBody }) => rawBody)).size).toBe(1);
    });
  });

  describe('an event that is not accepted', () => {
    test.each([[301], [400], [404], [409], [500], [503]])(
      'is resent after a %d response until it is accepted',
      async (status) => {
        receiver.statuses.push(status, status);
        const id = await captured();
        await sandbox.runFor(HOUR_MS);
        expect(receiver.arrivals.map(({ path }) => path)).toEqual(Array(3).fill('/callbacks/sandbox'));
        expect(await onlyEvent(id)).toMatchObject({ attempts: 3, delivered: true });
        expect(waits()).toEqual([0, 1, 2]);
      },
    );

    test('is resent at growing intervals of up to 15 minutes, and stays undelivered after 20 attempts', async () => {
      receiver.statuses.push(...Array<number>(30).fill(500));
      const id = await captured();
      await sandbox.runFor(24 * HOUR_MS);
      expect(receiver.arrivals).toHaveLength(20);
      expect(waits()).toEqual([0, ...GROWING_WAITS]);
      expect(await onlyEvent(id)).toMatchObject({ attempts: 20, delivered: false });
    });

    test('is not sent until a callback URL is configured', async () => {
      sandbox.address = undefined;
      const id = await captured();
      await sandbox.runFor(2 * SECOND_MS);
      expect(await onlyEvent(id)).toMatchObject({ attempts: 0, delivered: false });
      sandbox.address = receiver.url;
      await sandbox.runFor(HOUR_MS);
      expect(await onlyEvent(id)).toMatchObject({ attempts: 1, delivered: true });
      expect(receiver.arrivals).toHaveLength(1);
    });

    test.each([['http://127.0.0.1:1/callbacks'], ['no URL at all']])(
      'has one failed attempt recorded after a call to the URL "%s"',
      async (address) => {
        sandbox.address = address;
        const id = await captured();
        await sandbox.runDue();
        expect(await onlyEvent(id)).toMatchObject({ attempts: 1, delivered: false });
        expect(waits()).toEqual([0, 1]);
      },
    );

    test('is resent if the receiver closes the connection', async () => {
      let broken = false;
      receiver.onArrival = async () => {
        if (!broken) {
          broken = true;
          throw new Error('the receiver crashed');
        }
      };
      const id = await captured();
      await sandbox.runFor(SECOND_MS);
      expect(await onlyEvent(id)).toMatchObject({ attempts: 2, delivered: true });
    });
  });

  describe('a task on the queue', () => {
    test('sends nothing when redelivered after the event was accepted', async () => {
      await captured();
      const [task] = sandbox.queued;
      await sandbox.runDue();
      expect(await sandbox.batch(task?.body ?? '')).toEqual({ batchItemFailures: [] });
      expect(receiver.arrivals).toHaveLength(1);
    });

    test('is retried for half a minute while its event is not in the books', async () => {
      const task = { kind: 'deliver', eventId: 'evt_1', attempt: 1, copies: 1, again: false, thenEventId: null };
      await sandbox.batch(JSON.stringify(task));
      await sandbox.runFor(HOUR_MS);
      expect(waits()).toEqual([1, 2, 4, 8, 16]);
      expect(receiver.arrivals).toEqual([]);
    });

    test('is retried for half a minute while its charge is not in the books', async () => {
      const task = { kind: 'advance', chargeId: 'ch_1', to: 'succeed', attempt: 1, partId: null, heldEventId: null };
      await sandbox.batch(JSON.stringify(task));
      await sandbox.runFor(HOUR_MS);
      expect(waits()).toEqual([1, 2, 4, 8, 16]);
    });

    test('that fails is logged, and only its own message is redelivered', async () => {
      const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined);
      await captured();
      await captured();
      const [first, second] = sandbox.queued.map(({ body }) => body);
      expect(await sandbox.batch(first ?? '', 'not JSON', second ?? '', '{"kind":"other"}')).toEqual({
        batchItemFailures: [{ itemIdentifier: 'm2' }, { itemIdentifier: 'm4' }],
      });
      expect(logged).toHaveBeenCalledTimes(2);
      logged.mockRestore();
      expect(receiver.arrivals).toHaveLength(2);
    });

    test('does not wait for the other tasks of its batch', async () => {
      await captured();
      await captured();
      const bothHere = Promise.withResolvers<void>();
      receiver.onArrival = async () => {
        if (receiver.arrivals.length === 2) bothHere.resolve();
        await bothHere.promise;
      };
      await sandbox.batch(...sandbox.queued.map(({ body }) => body));
      expect(receiver.arrivals).toHaveLength(2);
    });
  });

  test('that cannot be enqueued make the request that causes them fail with 500, and the request changes nothing', async () => {
    const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const id = await captured();
    const before = await harness.read(id);
    const refuse = () => Promise.reject(new Error('the queue is unavailable'));
    const closed = createTestSandbox(sandbox.books, { enqueue: refuse });
    const closedHarness = sandboxHarness(closed.handler);
    expect((await closedHarness.charge('tok_ok', { metadata: { payment: 'pay_2' } })).status).toBe(500);
    expect((await closedHarness.post(`/charges/${id}/refunds`)).status).toBe(500);
    expect((await closedHarness.post(`/control/charges/${id}/dispute`)).status).toBe(500);
    expect(listIn(await harness.get('/charges', { payment: 'pay_2' })).data).toEqual([]);
    expect(await harness.read(id)).toEqual(before);
    expect(await harness.types(id)).toEqual(['charge.succeeded']);
    logged.mockRestore();
  });

  describe('an event that is resent on demand', () => {
    test('is sent with the same id by default, even after it was accepted', async () => {
      const id = await captured();
      await sandbox.runDue();
      const event = await onlyEvent(id);
      await harness.post(`/control/events/${event.id}/resend`);
      await sandbox.runDue();
      expect(receiver.arrivals.map((arrival) => arrival.event.id)).toEqual([event.id, event.id]);
      expect(await onlyEvent(id)).toMatchObject({ attempts: 2, delivered: true });
    });

    test('is retried until accepted, even if it was accepted before', async () => {
      const id = await captured();
      await sandbox.runDue();
      receiver.statuses.push(500);
      await harness.post(`/control/events/${(await onlyEvent(id)).id}/resend`);
      await sandbox.runFor(HOUR_MS);
      expect(await onlyEvent(id)).toMatchObject({ attempts: 3, delivered: true });
    });

    test('is sent in five concurrent copies if five are requested', async () => {
      const id = await captured();
      await sandbox.runDue();
      const allHere = Promise.withResolvers<void>();
      receiver.onArrival = async () => {
        if (receiver.arrivals.length === 6) allHere.resolve();
        await allHere.promise;
      };
      await harness.post(`/control/events/${(await onlyEvent(id)).id}/resend`, { copies: 5 });
      await sandbox.runDue();
      expect(receiver.arrivals).toHaveLength(6);
      expect(await onlyEvent(id)).toMatchObject({ attempts: 6 });
    });

    test('is sent with a new id, but the same type and data, if a new id is requested', async () => {
      const id = await captured();
      await sandbox.runDue();
      const event = await onlyEvent(id);
      sandbox.advance(5 * SECOND_MS);
      const made = eventIn(await harness.post(`/control/events/${event.id}/resend`, { id: 'new' }));
      await sandbox.runDue();
      expect(receiver.arrivals.map((arrival) => arrival.event)).toEqual([
        receiver.arrivals[0]?.event,
        { ...receiver.arrivals[0]?.event, id: made.id, created: SANDBOX_START_MS / SECOND_MS + 5 },
      ]);
      expect(made.id).not.toBe(event.id);
    });
  });
});
