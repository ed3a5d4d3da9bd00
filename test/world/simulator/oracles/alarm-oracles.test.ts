import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { ViewsRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { inquiryKey, inquiryQueueAttributes } from '../../../../lambdas/payments/store/queue-items.ts';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';
import { appendTo, type Draft, refundOf } from './written.ts';

const MINUTE_MS = 60_000;
const NEEDED = 'required alarms are raised';

test('a contradiction may raise at most one alarm per state of the books and per transition of the chain', async () => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('contradicted');
  await harness.pay(request);
  await harness.processor.inside.correct(harness.chargeOf(request), { status: 'declined', amount_captured: 0 });
  const again = (minutes: number): void =>
    void world.alarms.push({
      metric: 'contradiction',
      about: request.paymentId,
      atMs: harness.clock.nowMs() + minutes * MINUTE_MS,
      count: 1,
      dimensions: {},
    });
  // The first two alarms count as one, because two processes may raise the same alarm at the same time. Four alarms are
  // allowed: the books had two states, and the chain has two transitions.
  for (const minutes of [0, 0.1, 5, 10, 15]) again(minutes);
  expect(world.atTheEnd()).not.toContain('an alarm is raised once for each event');
  again(20);
  expect(world.atTheEnd()).toContain('an alarm is raised once for each event');
});

test.each([
  ['must raise a second alarm if a callback reports it', true, ['I9 processor and books']],
  ['need not raise a second alarm if only an inquiry finds it', false, []],
])('a recurring contradiction %s', async (_by, isTaken, violated) => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('again');
  await harness.pay(request);
  const chargeId = harness.chargeOf(request);
  const { inside } = harness.processor;
  const alarm = { metric: 'contradiction', about: request.paymentId, count: 1, dimensions: {} };
  const raised = (): void => void world.alarms.push({ ...alarm, atMs: harness.clock.nowMs() });
  const void_ = { status: 'voided', amount_captured: 0 } as const;
  await inside.correct(chargeId, void_);
  raised();
  await inside.correct(chargeId, { status: 'succeeded', amount_captured: request.amountMinor });
  harness.clock.advance(60 * MINUTE_MS);
  await inside.correct(chargeId, void_);
  await harness.deliver(callback('again', chargeId));
  const nowMs = harness.clock.nowMs();
  world.callbacks.push({ processor: 'sandbox', chargeId, firstAtMs: nowMs, ...(isTaken ? { takenAtMs: nowMs } : {}) });
  // An inquiry reads the charge, with or without a callback.
  await harness.processor.readCharge(chargeId, { timeoutMs: 5_000 });
  expect(world.atTheEnd()).toEqual(violated);
  raised();
  expect(world.atTheEnd()).toEqual([]);
});

test.each([
  ['a day later', 24 * 60, false, []],
  ['two days later', 48 * 60, false, [NEEDED]],
  ['an hour earlier', -60, false, [NEEDED]],
  ['an hour earlier, by a process that crashed', -60, true, []],
  ['before the refund was given up, by a process that crashed', -180, true, [NEEDED]],
] as const)(
  'a refund that succeeds after Payonce gave it up must raise a contradiction alarm in time (alarm: %s)',
  async (_when, minutes, isDead, violated) => {
    const harness = new World();
    const world = watched(harness);
    const crash = { name: 'job 1/1', kind: 'crash_before', label: 'dynamodb TransactWriteCommand' } as const;
    if (isDead) world.faults.push({ ...crash, of: 'payment-jobs', atMs: harness.clock.nowMs() });
    const request = paymentRequest('given_up');
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    const refundId = await harness.processor.inside.refund(charge, 700, 'succeeded');
    const failure = { code: 'decided_by_operator', message: 'An operator said so.' };
    await appendTo(harness, request, { type: 'refund.pending', subject: refundOf(refundId, charge) });
    const failed = refundOf(refundId, charge, { status: 'failed', failure });
    await appendTo(harness, request, { type: 'refund.failed', subject: failed });
    world.now();
    harness.clock.advance(120 * MINUTE_MS);
    await appendTo(harness, request, {
      type: 'refund.completed',
      subject: refundOf(refundId, charge, { status: 'succeeded' }),
    });
    world.now();
    const atMs = harness.clock.nowMs() + minutes * MINUTE_MS;
    world.alarms.push({ metric: 'contradiction', about: request.paymentId, atMs, count: 1, dimensions: {} });
    expect(world.atTheEnd().filter((name) => name === NEEDED)).toEqual(violated);
  },
);

test('a recovery that appends a late success again need not raise the alarm about it again', async () => {
  const harness = new World();
  const world = watched(harness);
  const request = paymentRequest('restored');
  await harness.pay(request);
  const occurredAtMs = harness.clock.nowMs();
  const subject = { kind: 'stray_charge', chargeId: 'ch_late', amountMinor: 1000, currency: 'EUR', status: 'captured' };
  harness.clock.advance(10 * MINUTE_MS);
  const draft = { type: 'payment.late_success', subject } as Draft;
  await appendTo(harness, request, draft, occurredAtMs);
  world.now();
  const alarm = { metric: 'late_success', about: request.paymentId, count: 1, dimensions: {} };
  world.alarms.push({ ...alarm, atMs: occurredAtMs - 2 * MINUTE_MS });
  expect(world.atTheEnd()).toContain(NEEDED);
  world.alarms[0] = { ...alarm, atMs: occurredAtMs };
  expect(world.atTheEnd()).not.toContain(NEEDED);
});

describe('work that waits for an operator', () => {
  let harness: World;
  let world: ReturnType<typeof watched>;
  beforeEach(() => {
    harness = new World();
    world = watched(harness);
  });

  const report = (metric: string, count: number, about?: string): void =>
    void world.alarms.push({ metric, count, atMs: harness.clock.nowMs(), dimensions: {}, ...(about && { about }) });
  const put = (table: string, item: object) =>
    harness.store.database.client.send(new PutCommand({ TableName: table, Item: { ...item } }));

  test('includes confirmed mismatches, and the newest comparison must count all of them', async () => {
    const body = JSON.stringify({ status: 'confirmed' });
    await put(TABLES.views, { pk: ViewsRow.allMismatches, sk: 'a', chain: 'a', sequence: 1, body });
    expect(world.atTheEnd()).toEqual([NEEDED]);
    report('mismatches', 1);
    expect(world.atTheEnd()).toEqual([]);
    report('mismatches', 0);
    expect(world.atTheEnd()).toEqual([NEEDED]);
  });

  test('includes callbacks given up without a payment, but not callbacks for charges that Payonce did not create', async () => {
    const { chargeId } = await harness.processor.inside.charge({ amountMinor: 100 });
    await harness.deliver(callback('of_another', chargeId));
    await harness.deliver(callback('orphaned', 'ch_none'));
    expect(world.atTheEnd()).toEqual([]);
    harness.clock.advance(25 * 60 * MINUTE_MS);
    await harness.retryOrphans();
    expect(world.atTheEnd()).toEqual([NEEDED]);
    report('undecidable', 1, chargeId);
    expect(world.atTheEnd()).toEqual([NEEDED]);
    report('undecidable', 1, 'ch_none');
    expect(world.atTheEnd()).toEqual([]);
  });

  test('must not include a callback that arrived less than a day ago', async () => {
    await harness.deliver(callback('orphaned', 'ch_none'));
    harness.clock.advance(60 * MINUTE_MS);
    const early = { metric: 'orphan_given_up', count: 1, atMs: harness.clock.nowMs(), dimensions: {} };
    harness.clock.advance(24 * 60 * MINUTE_MS);
    await harness.retryOrphans();
    report('undecidable', 1, 'ch_none');
    report('orphan_given_up', 1);
    expect(world.atTheEnd()).toEqual([]);
    world.alarms.push(early);
    expect(world.atTheEnd()).toEqual([NEEDED]);
  });

  test('includes outcomes that cannot be determined; the age of the oldest must be reported', async () => {
    const request = paymentRequest('undecidable');
    await harness.pay(request);
    const { paymentId } = request;
    const inquiry = { operationId: storedOperationId('ref_any'), paymentId, claimedAtMs: harness.clock.nowMs() };
    const marked = { ...inquiry, undecidable: true };
    await put(TABLES.registry, {
      ...inquiryKey(inquiry),
      ...marked,
      ...inquiryQueueAttributes(marked, harness.clock.nowMs()),
    });
    harness.clock.advance(60 * MINUTE_MS);
    expect(world.atTheEnd()).toEqual([NEEDED]);
    report('oldest_unknown_outcome', 60 * MINUTE_MS);
    expect(world.atTheEnd()).toEqual([]);
    report('oldest_unknown_outcome', 0);
    expect(world.atTheEnd()).toEqual([NEEDED]);
  });

  test('includes messages that waited in a queue for a long time; a metric must report them', () => {
    const waits = [{ queue: 'webhooks', fromMs: harness.clock.nowMs() - MINUTE_MS, untilMs: harness.clock.nowMs() }];
    Object.assign(world.world.mishaps, { waits });
    expect(world.atTheEnd()).toEqual([NEEDED]);
    report('messages_wait', 1);
    expect(world.atTheEnd()).toEqual([]);
    Object.assign(world.world.mishaps, { waits: waits.map((each) => ({ ...each, untilMs: each.fromMs })) });
    expect(world.atTheEnd()).toEqual([NEEDED]);
  });

  test.each([
    [0, [NEEDED]],
    [1, []],
  ])(
    'includes unknown outcomes; at least one of three reports about them must state an age above zero (last report: %i ms)',
    async (ageMs, violated) => {
      for (const age of [0, 0, ageMs]) {
        expect(world.atTheEnd()).toEqual([]);
        harness.clock.advance(11 * MINUTE_MS);
        report('unknown_outcomes', 1);
        report('oldest_unknown_outcome', age);
      }
      expect(world.atTheEnd()).toEqual(violated);
    },
  );
});
