import { afterEach, describe, expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { ownerToken, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { QueueLists } from '../../lambdas/operators/use/queue-lists.ts';
import { changeIdOf } from '../../lambdas/payments/ids.ts';
import type { Effect } from '../../lambdas/payments/use/effect-store.ts';
import { recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { paymentInReview } from '../payments/provoked-changes.ts';
import { comparedPayment } from '../reconciliation/mismatch-fixtures.ts';
import { PEAK, setPeakRates } from '../support/peak-rates.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryViews } from '../views/memory-views.ts';
import { Api, as, dataOf, OPERATOR_KEY } from '../world/api.ts';
import { CountedDynamoDb } from '../world/counted-dynamodb.ts';
import { Stores } from '../world/stores.ts';
import { World } from '../world/world.ts';
import { MemoryMessages } from './memory-messages.ts';

const HOUR_MS = 3_600_000;
const PATH = '/v1/admin/attention';
const RULES = { aboveMinor: { EUR: 100 }, lifetimeMs: 72 * HOUR_MS };
const BEN_KEY = 'ok_benbenbenbenbenbenbenben00';
const VIEWER = { headers: { Authorization: 'Bearer ok_viewerviewerviewerviewer' } };

let effects = 0;

async function record({ store, clock }: Api, effect: Omit<Effect, 'record' | 'transitions'>): Promise<void> {
  effects += 1;
  await store.recordEffect({
    record: {
      operationId: callbackOperation(systemDigest, 'memory', `evt-${effects}`),
      owner: ownerToken('owner-a'),
      recordedAtMs: clock.nowMs(),
    },
    transitions: [],
    ...effect,
  });
}

/** Contains most of the kinds of work that need a person, and also work that jobs will finish. */
async function troubled() {
  const reviewed = await paymentInReview();
  const { ledger: behind } = reviewed;
  const messages = new MemoryMessages(behind.clock);
  const api = behind.with({ messages, approvals: RULES });
  api.registerOperator('ok_viewerviewerviewerviewer', { role: 'viewer', operator: 'Vera' });
  const paid = await api.paid('paid');
  const held = await api.paid('held', { capture: 'manual' });
  const refundId = changeIdOf(systemDigest, 'refund', paid, ['r']);
  const claimedAtMs = api.clock.nowMs();
  const marked = { undecidable: true };
  const inquiry = { paymentId: paid, claimedAtMs };
  await record(api, { inquiries: [{ ...inquiry, operationId: refundId, ...marked }] });
  await record(api, { inquiries: [{ ...inquiry, operationId: storedOperationId('ch_bank'), waitsFor: 'bank' }] });
  await record(api, {
    toReturn: [{ paymentId: paid, chargeId: 'ch_stray', by: 'refund', foundAtMs: claimedAtMs, ...marked }],
  });
  await record(api, { toReturn: [{ paymentId: paid, chargeId: 'ch_soon', by: 'refund', foundAtMs: claimedAtMs }] });
  await record(api, { hold: { paymentId: held, authorizedAtMs: claimedAtMs, dueAtMs: claimedAtMs, ...marked } });
  await record(api, { hold: { paymentId: paid, authorizedAtMs: claimedAtMs + 1 } });
  const orphan = {
    operationId: callbackOperation(systemDigest, 'memory', 'orphan'),
    event: { processorName: 'memory', mode: 'test', eventId: 'e', type: 'charge.succeeded', chargeId: 'ch_kept' },
    reason: 'charge_unknown',
    receivedAtMs: claimedAtMs,
  } as const;
  await record(api, { orphan });
  await api.store.giveUp(orphan);
  const mismatch = {
    paymentId: paid,
    paymentStatus: 'succeeded',
    currency: 'EUR',
    processorMinor: 1250,
    ledgerMinor: 1000,
    chargeIds: ['ch_1'],
    kind: 'amount_differs',
  } as unknown as Parameters<typeof recordComparison>[2];
  for (const hours of [0, 1]) {
    const subject = comparedPayment('k', { subject: paid });
    await recordComparison(
      { views: api.views, digest: systemDigest },
      subject,
      mismatch,
      claimedAtMs + hours * HOUR_MS,
    );
  }
  const suspected = comparedPayment('k', { subject: reviewed.id });
  await recordComparison({ views: api.views, digest: systemDigest }, suspected, mismatch, claimedAtMs);
  for (const id of ['a', 'b']) messages.arrive('Webhooks-Tasks-DeadLetters', { id });
  messages.arrive('Archive-Parked', { id: 'c' });
  messages.arrive('Webhooks-Tasks-Queue', { id: 'd' });
  const asked = await reviewed.ledger
    .with({ approvals: RULES })
    .write(`/v1/admin/payments/${reviewed.id}/resolve`, 'd', { outcome: 'failed', reason: 'Nothing was charged' });
  expect(asked.status).toBe(202);
  api.clock.advance(60_000);
  return { api, reviewed: reviewed.id, paid, held, refundId, approval: String(asked.body['id']) };
}

test('the list of work for operators contains only work that no job can finish, each entry with the action that resolves it', async () => {
  const { api, reviewed, paid, held, refundId, approval } = await troubled();
  const list = await api.get(PATH, VIEWER);
  const shown = dataOf(list).map(({ kind, about, part, queue, count, tenant, amount, act }) =>
    JSON.stringify([kind, about, part, queue, count, tenant, amount, act].map((each) => each ?? '-'))
      .replaceAll(/[["\]]/g, '')
      .replaceAll(',', ' '),
  );
  const mismatch = dataOf(list).find(({ kind }) => kind === 'mismatch')?.['part'];
  expect(shown).toEqual([
    `payment_in_review ${reviewed} - - 1 ten_desk 1000 decide_payment`,
    `change_in_review ${paid} ${refundId} inquiries 1 ten_desk - decide_change`,
    `charge_to_return ${paid} ch_stray returns 1 ten_desk - look`,
    `hold_to_void ${held} - holds 1 ten_desk 1000 cancel`,
    `mismatch ${paid} ${String(mismatch)} - 1 ten_desk 250 compare`,
    `approval ${reviewed} ${approval} - 1 ten_desk 1000 approve`,
    'unmatched_callback - ch_kept unmatched_callbacks 1 - - dismiss',
    'dead_letters - - Webhooks-Tasks-DeadLetters 2 - - redrive',
    'parked_records - - Archive-Parked 1 - - look',
  ]);
  const counts = list.body['counts'] as readonly Readonly<Record<string, unknown>>[];
  expect(counts.map(({ kind, count, more }) => `${String(kind)} ${String(count)} ${String(more)}`)).toEqual([
    'payment_in_review 1 false',
    'change_in_review 1 false',
    'order_in_review 0 false',
    'charge_to_return 1 false',
    'hold_to_void 1 false',
    'stuck_request 0 false',
    'mismatch 1 false',
    'approval 1 false',
    'unmatched_callback 1 false',
    'webhook_endpoint 0 false',
    'dead_letters 2 false',
    'parked_records 1 false',
  ]);
  expect(counts[1]).toMatchObject({ oldest_age: 60 });
});

test('the list of work for operators can be read in pages, and by kind', async () => {
  const { api } = await troubled();
  const all = dataOf(await api.get(PATH)).map(({ id }) => id);
  expect(new Set(all).size).toBe(9);
  const paged: unknown[] = [];
  let after = '';
  for (let page = 0; page < 9; page += 1) {
    const read = await api.get(`${PATH}?limit=2${after}`);
    paged.push(...dataOf(read).map(({ id }) => id));
    after = `&starting_after=${String(paged.at(-1))}`;
    if (read.body['has_more'] !== true) break;
  }
  expect(paged).toEqual(all);
  expect(dataOf(await api.get(`${PATH}?kind=approval`))).toMatchObject([{ kind: 'approval' }]);
  const unknown = await api.get(`${PATH}?starting_after=att_${Buffer.from('no 1 x').toString('base64url')}`);
  expect([unknown.status, unknown.body['param']]).toEqual([400, 'starting_after']);
});

test('a stuck refund is listed with its amount, and needs no decision after one of two concurrent decisions took effect', async () => {
  const api = new Api();
  const id = await api.paid('k', { amount: 2000 });
  const silent = () => Promise.reject(new AmbiguousError('processor_timeout', 'no answer'));
  const desk = api.with({ processor: { ...api.processor, change: silent, findChange: silent } });
  const change = (await desk.change(`${id}/refunds`, 'r', { amount: 500 })).body['id'];
  for (const inquiry of await api.store.inquiries())
    await api.store.postponeInquiry(inquiry, { dueAtMs: api.clock.nowMs(), undecidable: true });
  api.clock.advance(2 * HOUR_MS);
  const listed = async () => dataOf(await api.get(`${PATH}?kind=change_in_review`));
  expect(await listed()).toMatchObject([
    { about: id, part: change, amount: 500, currency: 'EUR', act: 'decide_change' },
  ]);
  api.registerOperator(BEN_KEY, { operator: 'Ben Example', role: 'operator' });
  const decide = (key: string) =>
    api.write(
      `/v1/admin/payments/${id}/resolve`,
      'd',
      { outcome: 'failed', change, reason: 'The processor shows no refund' },
      as(key),
    );
  const decided = await Promise.all([OPERATOR_KEY, BEN_KEY].map(decide));
  expect(new Set(decided.map(({ status, body }) => `${status} ${String(body['code'] ?? body['status'])}`))).toEqual(
    new Set(['200 failed', '409 change_not_undecided']),
  );
  expect(await listed()).toMatchObject([
    { part: change, amount: 500, act: 'look', reason: expect.stringContaining('is known') },
  ]);
  const acts = dataOf(await api.get('/v1/admin/activity?tenant=ten_desk&mode=test'));
  expect(acts.map(({ action }) => action)).toEqual(['decision.made']);

  // The sums in the newest transition cover only the payment's own charge, so they do not show that a refund of another
  // charge has ended.
  const readEnds = async (...of: Parameters<typeof api.store.readEnds>) => {
    const ends = await api.store.readEnds(...of);
    const { ofBucket } = ends ?? {};
    if (ends === undefined || ofBucket?.subject?.kind !== 'refund') throw new Error('the chain is too short');
    return { ...ends, ofBucket: { ...ofBucket, subject: { ...ofBucket.subject, chargeId: 'ch_other' } } };
  };
  const store = new Proxy(api.store, {
    get: (own, name) => {
      if (name === 'readEnds') return readEnds;
      const value: unknown = Reflect.get(own, name);
      return typeof value === 'function' ? (value as () => unknown).bind(own) : value;
    },
  });
  const ofOther = await api.with({ store }).get(`${PATH}?kind=change_in_review`);
  expect(dataOf(ofOther)).toMatchObject([{ part: change, act: 'decide_change' }]);
});

test('a payment in review leaves the list of work for operators when an operator decides it', async () => {
  const { api, reviewed } = await troubled();
  const inReview = async () => dataOf(await api.get(`${PATH}?kind=payment_in_review`)).map(({ about }) => about);
  expect(await inReview()).toEqual([reviewed]);
  const decided = await api.with({ approvals: undefined }).write(`/v1/admin/payments/${reviewed}/resolve`, 'e', {
    outcome: 'succeeded',
    amount: 600,
    reason: 'Seen on the bank statement',
  });
  expect(decided.status).toBe(200);
  expect(await inReview()).toEqual([]);
  expect(dataOf(await api.get('/v1/admin/payments?status=needs_review'))).toEqual([]);
});

test('if the entries of a kind were read only in part, the count of that kind says that there may be more, even if it is 0', async () => {
  const { api } = await troubled();
  const queues = { needingOperator: async () => ({ entries: [], hasMore: true }) } as unknown as QueueLists;
  const { body } = await api.with({ queues }).get(PATH);
  const counts = body['counts'] as readonly Readonly<Record<string, unknown>>[];
  expect(counts.find(({ kind }) => kind === 'hold_to_void')).toMatchObject({ count: 0, more: true });
});

describe('a page of the default size', () => {
  afterEach(() => setPeakRates());

  /** Other transitions follow each refund, so the page needs the maximum number of DynamoDB calls for it. */
  async function manyStuck() {
    const database = new CountedDynamoDb(new SimulatedClock());
    const api = new Api({}, new World({ store: new Stores(new SimulatedClock(), database) }));
    const silent = () => Promise.reject(new AmbiguousError('processor_timeout', 'no answer'));
    const desk = api.with({ processor: { ...api.processor, change: silent, findChange: silent } });
    for (let number = 0; number < 20; number += 1) {
      const id = await api.paid(`k-${number}`, { amount: 2_000 });
      for (const earlier of ['a', 'b']) await api.change(`${id}/refunds`, `${earlier}-${number}`, { amount: 1 });
      await desk.change(`${id}/refunds`, `r-${number}`, { amount: 500 });
      for (let after = 0; after < 4; after += 1) await api.annotate(id, `n-${number}-${after}`);
    }
    for (const inquiry of await api.store.inquiries())
      await api.store.postponeInquiry(inquiry, { dueAtMs: api.clock.nowMs(), undecidable: true });
    return { api: api.with({ views: new MemoryViews(database) }), database };
  }

  test.each([
    ['with the standard shards', []],
    ['at 20,000 payments a second', [{ from: '2026-01-01', ...PEAK }]],
  ])(
    'costs at most 60 DynamoDB calls %s, even if each entry needs the maximum number of calls',
    async (_name, rates) => {
      setPeakRates(...rates);
      const { api, database } = await manyStuck();
      const { calls, result } = await database.counted(() => api.get(PATH));
      const shown = dataOf(result);
      expect(shown.every(({ amount }) => amount === 500)).toBe(true);
      expect(calls - 3 * shown.length).toBe(12);
      expect(calls).toBeGreaterThan(60 - 5);
      expect(calls).toBeLessThanOrEqual(60);
    },
  );
});
