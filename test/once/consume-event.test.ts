import { describe, expect, test } from '@jest/globals';
import type { PaymentEvent } from '../../lambdas/events/domain/event.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { type Consumer, consumeEvent, inOwnTables, outside } from '../../lambdas/once/use/consume-event.ts';
import type { ConsumerWrite } from '../../lambdas/once/use/consumer-records.ts';
import { type Consumed, type ExternalCall } from '../../lambdas/once/use/execute-once.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { paidEvent } from './consumer-world.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const EVENT = paidEvent();
const HEAD = { table: 'views', partition: 'TEST#HEAD', sort: 'head' } as const;

class Harness {
  readonly clock = new SimulatedClock();
  readonly stores = new Stores(this.clock);
  readonly records = this.stores.consumed;
  readonly #entropy = countingEntropy();

  consume(consumer: Consumer<PaymentEvent>, event: PaymentEvent = EVENT): Promise<Consumed> {
    const { clock, records } = this;
    return consumeEvent(
      { records, runner: idempotentRunner, clock, entropy: this.#entropy, digest: systemDigest },
      consumer,
      event,
    );
  }

  pass(ms: number): void {
    this.clock.advance(ms);
    this.stores.database.deleteExpired();
  }
}

/** Writes a new row each time, so that the number of rows is the number of effects. */
function counting(handler: string, changes: Partial<Consumer<PaymentEvent>> = {}) {
  let written = 0;
  const handle = inOwnTables<PaymentEvent>(async () => {
    written += 1;
    return [{ kind: 'put', row: { ...HEAD, sort: `${handler}-${written}` }, attributes: { handler } }];
  });
  return { handler, handle, ...changes };
}

describe('an event', () => {
  test('takes effect once at a consumer, however often it is delivered', async () => {
    const harness = new Harness();
    const consumer = counting('entries');
    expect(await harness.consume(consumer)).toEqual({ kind: 'done' });
    expect(await harness.consume(consumer)).toEqual({ kind: 'done_before' });
    expect(harness.stores.allRows()).toHaveLength(1);
  });

  test('takes effect at each of its consumers, even if one of them fails', async () => {
    const harness = new Harness();
    const failing = outside<PaymentEvent>(async () => {
      throw new Error('the vendor is down');
    });
    await expect(harness.consume({ handler: 'letters', handle: failing })).rejects.toThrow('the vendor is down');
    expect(await harness.consume(counting('entries'))).toEqual({ kind: 'done' });
    expect(await harness.consume(counting('commission'))).toEqual({ kind: 'done' });
    expect(harness.stores.allRows()).toEqual([{ handler: 'commission' }, { handler: 'entries' }]);
  });

  test('is remembered for longer than queue, archive and dead-letter queue together can redeliver it', async () => {
    const harness = new Harness();
    const consumer = counting('entries');
    await harness.consume(consumer);
    harness.pass(28 * DAY_MS);
    expect(await harness.consume(consumer)).toEqual({ kind: 'done_before' });
  });
});

describe('a business key', () => {
  const key = ({ payment }: PaymentEvent) => `commission:${payment.id}`;
  const authorized = { ...EVENT, event: { ...EVENT.event, id: 'evt_another' } };

  test('limits two events to one effect, even a year later', async () => {
    const harness = new Harness();
    const consumer = counting('commission', { key });
    expect(await harness.consume(consumer)).toEqual({ kind: 'done' });
    expect(await harness.consume(consumer, authorized)).toEqual({ kind: 'done_before' });
    harness.pass(365 * DAY_MS);
    expect(await harness.consume(consumer)).toEqual({ kind: 'done_before' });
    expect(harness.stores.allRows()).toHaveLength(1);
  });

  test('must exist for an event that is 30 days old: the record of its event id may have expired', async () => {
    const harness = new Harness();
    const event = { ...EVENT, occurredAtMs: harness.clock.nowMs() };
    const consumer = counting('commission');
    harness.pass(28 * DAY_MS);
    expect(await harness.consume(consumer, event)).toEqual({ kind: 'done' });
    for (const days of [2, 32, 400]) {
      harness.pass(days * DAY_MS);
      await expect(harness.consume(consumer, event)).rejects.toMatchObject({ code: 'event_too_old' });
    }
    const letters = { handler: 'letters', handle: outside<PaymentEvent>(async () => undefined) };
    await expect(harness.consume(letters, event)).rejects.toMatchObject({ code: 'event_too_old' });
    expect(harness.stores.allRows()).toHaveLength(1);
  });

  test('is required for an event that is 719 hours old, an hour before the record of its event id may expire; the error states this age', async () => {
    const harness = new Harness();
    const event = { ...EVENT, occurredAtMs: harness.clock.nowMs() };
    const consumer = counting('commission');
    harness.pass(719 * HOUR_MS - 1);
    expect(await harness.consume(consumer, event)).toEqual({ kind: 'done' });
    harness.pass(1);
    await expect(harness.consume(consumer, event)).rejects.toMatchObject({
      code: 'event_too_old',
      message: expect.stringMatching(/ is at least 719 hours old:/),
    });
  });

  test.each([
    ['tenant', { tenant: tenantId('ten_other') }],
    ['mode', { mode: 'live' as const }],
  ])('allows a separate effect for a different %s', async (_what, changes) => {
    const harness = new Harness();
    const consumer = counting('commission', { key: () => 'order:1' });
    await harness.consume(consumer);
    expect(await harness.consume(consumer, { ...EVENT, ...changes })).toEqual({ kind: 'done' });
  });

  test('allows a separate effect for a different handler, and must not be empty', async () => {
    const harness = new Harness();
    await harness.consume(counting('commission', { key }));
    expect(await harness.consume(counting('loyalty', { key }))).toEqual({ kind: 'done' });
    await expect(harness.consume(counting('loyalty', { key: () => '' }))).rejects.toThrow('empty');
  });
});

describe('an effect in Payonce’s own tables', () => {
  const head = (sequence: number, otherwise?: 'skip' | 'skip_all' | 'again'): ConsumerWrite => ({
    kind: 'put',
    row: HEAD,
    attributes: { sequence },
    when: { kind: 'older', attribute: 'sequence', than: sequence },
    ...(otherwise === undefined ? {} : { otherwise }),
  });
  const entry = (name: string): ConsumerWrite => ({ kind: 'put', row: { ...HEAD, sort: name }, attributes: { name } });

  test('skips obsolete writes, and applies the other writes', async () => {
    const harness = new Harness();
    const handle = (sequence: number) =>
      inOwnTables<PaymentEvent>(async () => [head(sequence, 'skip'), entry(`${sequence}`)]);
    await harness.consume({ handler: 'newer', handle: handle(7) });
    expect(await harness.consume({ handler: 'older', handle: handle(3) })).toEqual({ kind: 'done' });
    expect(harness.stores.row(HEAD)).toEqual({ sequence: 7 });
    expect(harness.stores.allRows()).toHaveLength(3);
  });

  test('is skipped entirely when a write with skip_all is obsolete', async () => {
    const harness = new Harness();
    const handle = (sequence: number) =>
      inOwnTables<PaymentEvent>(async () => [entry(`${sequence}`), head(sequence, 'skip_all')]);
    await harness.consume({ handler: 'newer', handle: handle(7) });
    expect(await harness.consume({ handler: 'older', handle: handle(3) })).toEqual({ kind: 'done' });
    expect(harness.stores.allRows()).toHaveLength(2);
    expect(await harness.consume({ handler: 'older', handle: handle(3) })).toEqual({ kind: 'done_before' });
  });

  test('is reported as already applied if a rival applies it first, and is not computed again at a later delivery', async () => {
    const harness = new Harness();
    const rival = counting('entries');
    let asked = 0;
    const handle = inOwnTables<PaymentEvent>(async () => {
      asked += 1;
      await harness.consume(rival);
      return [entry('late')];
    });
    expect(await harness.consume({ handler: 'entries', handle })).toEqual({ kind: 'done_before' });
    expect(await harness.consume({ handler: 'entries', handle })).toEqual({ kind: 'done_before' });
    expect([asked, harness.stores.allRows().length]).toEqual([1, 1]);
  });

  test('is computed again if two conditions fail and only one of the two writes may be skipped', async () => {
    const harness = new Harness();
    const other = { ...head(5), row: { ...HEAD, sort: 'other' } };
    const before = inOwnTables<PaymentEvent>(async () => [head(5), other]);
    await harness.consume({ handler: 'before', handle: before });
    let asked = 0;
    const handle = inOwnTables<PaymentEvent>(async () => {
      asked += 1;
      return asked === 1 ? [head(3, 'skip'), other] : [entry('again')];
    });
    expect(await harness.consume({ handler: 'after', handle })).toEqual({ kind: 'done' });
    expect(asked).toBe(2);
  });

  test('is recomputed from the current rows after a condition fails', async () => {
    const harness = new Harness();
    await harness.consume({ handler: 'before', handle: inOwnTables<PaymentEvent>(async () => [head(5)]) });
    let asked = 0;
    const handle = inOwnTables<PaymentEvent>(async () => {
      asked += 1;
      // The first attempt uses an outdated sequence number, as if it had read the row before the write above.
      return [head(asked === 1 ? 5 : 6)];
    });
    expect(await harness.consume({ handler: 'after', handle })).toEqual({ kind: 'done' });
    expect(asked).toBe(2);
    expect(harness.stores.row(HEAD)).toEqual({ sequence: 6 });
  });

  test('fails with contention, and records nothing, if its condition always fails', async () => {
    const harness = new Harness();
    await harness.consume({ handler: 'before', handle: inOwnTables<PaymentEvent>(async () => [head(5)]) });
    const handle = inOwnTables<PaymentEvent>(async () => [head(1)]);
    await expect(harness.consume({ handler: 'after', handle })).rejects.toMatchObject({ code: 'contention' });
    expect(harness.stores.consumptions()).toHaveLength(1);
  });

  test('may be empty, but must not exceed the size of a transaction', async () => {
    const harness = new Harness();
    expect(await harness.consume({ handler: 'none', handle: inOwnTables<PaymentEvent>(async () => []) })).toEqual({
      kind: 'done',
    });
    const many = inOwnTables<PaymentEvent>(async () => Array.from({ length: 100 }, (_, index) => entry(`${index}`)));
    await expect(harness.consume({ handler: 'many', handle: many })).rejects.toThrow('too many writes: 100');
  });
});

describe('an effect outside Payonce', () => {
  const recording = (behave: (attempt: number) => Promise<void>) => {
    const calls: ExternalCall[] = [];
    const handle = outside<PaymentEvent>(async (_event, call) => {
      calls.push(call);
      await behave(calls.length);
    });
    return { calls, consumer: { handler: 'letters', handle } };
  };

  test('is retried with the same key at the next delivery if it failed', async () => {
    const harness = new Harness();
    const { calls, consumer } = recording(async (attempt) => {
      if (attempt === 1) throw new Error('the vendor is down');
    });
    await expect(harness.consume(consumer)).rejects.toThrow('the vendor is down');
    expect(harness.stores.consumptions()).toMatchObject([{ status: 'failed', attempt: 1 }]);
    expect(await harness.consume(consumer)).toEqual({ kind: 'done' });
    expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2]);
    expect(new Set(calls.map(({ operationId }) => operationId)).size).toBe(1);
    expect(await harness.consume(consumer)).toEqual({ kind: 'done_before' });
  });

  test('excludes other deliveries while it is in progress, until the lease of a crashed owner expires', async () => {
    const harness = new Harness();
    const { calls, consumer } = recording(async (attempt) => {
      if (attempt === 1) await new Promise(() => undefined);
    });
    void harness.consume(consumer);
    await new Promise(setImmediate);
    expect(await harness.consume(consumer)).toEqual({ kind: 'busy' });
    harness.pass(34_000);
    expect(await harness.consume(consumer)).toEqual({ kind: 'busy' });
    harness.pass(2_000);
    expect(await harness.consume(consumer)).toEqual({ kind: 'done' });
    expect(calls).toHaveLength(2);
  });

  test('is not completed by a fenced owner that resumes late', async () => {
    const harness = new Harness();
    let finish: () => void = () => undefined;
    const { consumer } = recording((attempt) =>
      attempt === 1 ? new Promise((resolve) => (finish = resolve)) : Promise.resolve(),
    );
    const late = harness.consume(consumer);
    await new Promise(setImmediate);
    harness.pass(36_000);
    expect(await harness.consume(consumer)).toEqual({ kind: 'done' });
    finish();
    expect(await late).toEqual({ kind: 'busy' });
    expect(harness.stores.consumptions()).toMatchObject([{ status: 'completed', record: { owner: 'owner-2' } }]);
  });

  test('keeps its record permanently if it never succeeds', async () => {
    const harness = new Harness();
    const { consumer } = recording(async () => {
      throw new Error('never');
    });
    await expect(harness.consume(consumer)).rejects.toThrow('never');
    harness.pass(365 * DAY_MS);
    expect(harness.stores.consumptions()).toHaveLength(1);
  });
});
