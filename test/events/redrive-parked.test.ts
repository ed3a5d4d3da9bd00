import { beforeEach, describe, expect, test } from '@jest/globals';
import { parkedRangeBody, parkedWork } from '../../lambdas/events/store/parked-work.ts';
import { type ParkedWork, redriveParked } from '../../lambdas/events/use/redrive-parked.ts';
import { outcomeTransition } from '../payments/payment-fixtures.ts';
import { chains, RelayHarness } from './relay-harness.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe('a parked message', () => {
  test('is read as a Stream record if it is complete', () => {
    const record = { eventName: 'MODIFY', dynamodb: { SequenceNumber: '1' } };
    const body = JSON.stringify(record);
    expect(parkedWork(body)).toMatchObject({ kind: 'record', record: { whole: body, content: { kind: 'tampered' } } });
  });

  test('is kept unchanged as an unreadable record if it is not JSON', () => {
    const content = { kind: 'unreadable', detail: 'not JSON' };
    expect(parkedWork('{"cut')).toEqual({ kind: 'record', record: { position: '', whole: '{"cut', content } });
  });

  /** Format: AWS Lambda developer guide, "Retain discarded records for a DynamoDB event source". */
  test('with only a Stream position is republished from the Ledger, with a margin of ten minutes for clock skew', () => {
    const pointer = {
      requestContext: { condition: 'RetryAttemptsExhausted', approximateInvokeCount: 21 },
      version: '1.0',
      DDBStreamBatchInfo: {
        shardId: 'shardId-00000001573689847184-864758bb',
        startSequenceNumber: '800000000003126276362',
        endSequenceNumber: '800000000003126276363',
        approximateArrivalOfFirstRecord: '2026-03-01T12:05:00Z',
        approximateArrivalOfLastRecord: '2026-03-01T12:07:00Z',
        batchSize: 2,
      },
    };
    const work = { kind: 'range', sinceMs: Date.UTC(2026, 2, 1, 11, 55), untilMs: Date.UTC(2026, 2, 1, 12, 17) };
    expect(parkedWork(JSON.stringify(pointer))).toEqual(work);
    expect(parkedWork(parkedRangeBody(work))).toEqual(work);
  });

  /** Format: AWS Lambda developer guide, "Capturing records of Lambda asynchronous invocations". */
  test('is replaced by the original message if Lambda parked it after a failed redrive', () => {
    const parked = JSON.stringify({ eventName: 'REMOVE', dynamodb: { SequenceNumber: '1' } });
    const failed = {
      version: '1.0',
      requestContext: { condition: 'RetriesExhausted', approximateInvokeCount: 3 },
      requestPayload: { parked },
      responseContext: { statusCode: 200, functionError: 'Unhandled' },
      responsePayload: { errorMessage: 'The bus does not accept events now.' },
    };
    expect(parkedWork(JSON.stringify(failed))).toEqual(parkedWork(parked));
  });
});

describe('a redriven message', () => {
  let work: ParkedWork;
  let deadlineMs: number;
  let harness: RelayHarness;
  let range: Extract<ParkedWork, { kind: 'range' }>;

  const redriving = (of = chains(3)) =>
    new RelayHarness(of, (tools) =>
      redriveParked({ ...tools, transitions: harness.store.ledger, bodyOf: parkedRangeBody }, work, deadlineMs),
    );
  const redrive = (given: ParkedWork) => {
    work = given;
    deadlineMs = harness.clock.nowMs() + MINUTE_MS;
    return harness.relay([]);
  };

  beforeEach(() => {
    harness = redriving();
    const times = harness.ledger.map(({ occurredAtMs }) => occurredAtMs);
    harness.clock.advance(Math.max(...times) + 60 * MINUTE_MS - harness.clock.nowMs());
    range = { kind: 'range', sinceMs: Math.min(...times) - MINUTE_MS, untilMs: Math.max(...times) + MINUTE_MS };
  });

  const recordOf = (index: number): ParkedWork => {
    const record = harness.records[index];
    if (record === undefined) throw new Error('the record does not exist');
    return { kind: 'record', record };
  };

  test('is published if it is a record', async () => {
    expect(await redrive(recordOf(3))).toMatchObject({ published: 1, parked: 0 });
    expect(harness.publishedIds).toEqual(harness.expected.slice(0, 1));
  });

  test('is parked as a new message, with the reason, if the bus refuses its record again', async () => {
    harness.bus.trouble = () => ({ kind: 'refused', code: 'MalformedDetail' });
    expect(await redrive(recordOf(3))).toMatchObject({ published: 0, parked: 1 });
    const whole = harness.records[3]?.whole;
    expect(harness.parked).toEqual([{ body: whole, reason: 'refused_by_bus', detail: 'MalformedDetail' }]);
  });

  test.each([
    ['a record', () => recordOf(3)],
    ['a range', () => range],
  ])('fails while the bus is unavailable and is not parked, so that Lambda retries it: %s', async (_what, of) => {
    harness.bus.trouble = () => ({ kind: 'not_now', code: 'InternalFailure' });
    await expect(redrive(of())).rejects.toMatchObject({ name: 'RetryableError', code: 'events_not_published' });
    expect(harness.parked).toEqual([]);
    harness.bus.trouble = () => undefined;
    expect(await redrive(of())).toMatchObject({ parked: 0 });
    expect(new Set(harness.publishedIds)).toEqual(
      new Set(of().kind === 'range' ? harness.expected : [harness.expected[0]]),
    );
  });

  test('with a range raises the alarm for a payment in review, because the relay may have crashed before raising it', async () => {
    const [first] = chains(1);
    if (first === undefined) throw new Error('the payment has no transition');
    const review = outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1', capturedMinor: 999 });
    harness = redriving([first, review]);
    harness.clock.advance(range.untilMs - harness.clock.nowMs());
    expect(await redrive(range)).toMatchObject({ published: 1 });
    expect(harness.alarms).toEqual([`payment_to_review ${first.payment.id}`]);
  });

  test('with a range publishes all events of the range with their original ids', async () => {
    expect(await redrive(range)).toEqual({ published: 3, parked: 0, tampered: 0 });
    expect([...harness.publishedIds].sort()).toEqual([...harness.expected].sort());
    expect(harness.parked).toEqual([]);
  });

  test('is parked again if an event of its range cannot be published; the other events are published', async () => {
    const [refused] = harness.expected;
    harness.bus.trouble = (id) => (id === refused ? { kind: 'refused', code: 'MalformedDetail' } : undefined);
    expect(await redrive(range)).toEqual({ published: 2, parked: 1, tampered: 0 });
    expect(harness.parked).toEqual([
      { body: parkedRangeBody(range), reason: 'unpublishable', detail: '1 events: see the log' },
    ]);
  });

  test('is parked again, with its progress, if its range takes longer than one execution', async () => {
    const { ledger } = harness.store;
    const outcomesAfter = ledger.outcomesAfter.bind(ledger);
    ledger.outcomesAfter = async (at, untilMs) => {
      const [first] = (await outcomesAfter(at, untilMs, 1)).outcomes;
      harness.clock.advance(MINUTE_MS);
      return { outcomes: first === undefined ? [] : [first], isLast: false };
    };
    expect(await redrive(range)).toEqual({ published: 1, parked: 1, tampered: 0 });
    const [rest] = harness.parked;
    expect(rest).toMatchObject({ reason: 'incomplete' });
    ledger.outcomesAfter = outcomesAfter;
    expect(await redrive(parkedWork(rest?.body ?? ''))).toMatchObject({ parked: 0 });
    expect(new Set(harness.publishedIds)).toEqual(new Set(harness.expected));
  });

  test('is parked again, with the reason and without publishing, if consumers no longer deduplicate its events', async () => {
    harness.clock.advance(14 * DAY_MS);
    expect(await redrive(range)).toEqual({ published: 0, parked: 1, tampered: 0 });
    expect(harness.parked).toMatchObject([{ body: parkedRangeBody(range), reason: 'beyond_horizon' }]);
    expect(harness.publishedIds).toEqual([]);
  });

  test('publishes the part of a long range that consumers still deduplicate, and parks the older part', async () => {
    // The job can park such a range in a quiet deployment.
    harness.clock.advance(-60 * MINUTE_MS + 2 * MINUTE_MS);
    const wide: ParkedWork = {
      kind: 'range',
      sinceMs: range.sinceMs - 14 * DAY_MS - 30 * MINUTE_MS,
      untilMs: range.untilMs,
    };
    await redrive(wide);
    expect([...harness.publishedIds].sort()).toEqual([...harness.expected].sort());
    const forgotten = { sinceMs: wide.sinceMs, untilMs: harness.clock.nowMs() - 14 * DAY_MS };
    expect(harness.parked).toMatchObject([{ body: parkedRangeBody(forgotten), reason: 'beyond_horizon' }]);
  });
});
