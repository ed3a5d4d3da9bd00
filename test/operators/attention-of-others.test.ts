import { expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { comparedPayment, differsBy } from '../reconciliation/mismatch-fixtures.ts';
import { Api, dataOf } from '../world/api.ts';
import { MemoryMessages } from './memory-messages.ts';
import { unmatchedCallback } from './unmatched-callback.ts';

const PATH = '/v1/admin/attention';

/** Queues a charge that only an operator can return. */
async function stuckReturn(api: Api, paymentId: Awaited<ReturnType<Api['paid']>>, chargeId: string): Promise<void> {
  const foundAtMs = api.clock.nowMs();
  await api.store.recordEffect({
    record: {
      operationId: callbackOperation(systemDigest, 'memory', chargeId),
      owner: ownerToken('owner-a'),
      recordedAtMs: foundAtMs,
    },
    transitions: [],
    toReturn: [{ paymentId, chargeId, by: 'refund', foundAtMs, undecidable: true }],
  });
}

test('if the messages of a queue cannot be counted, the list of work reports that kind of work as unread, and lists all other work', async () => {
  const behind = new Api();
  const messages = new MemoryMessages(behind.clock);
  const count = messages.count.bind(messages);
  messages.count = (queue) =>
    queue === 'Archive-Parked' ? Promise.reject(new RetryableError('queue_unavailable', 'away')) : count(queue);
  const api = behind.with({ messages });
  await stuckReturn(behind, await behind.paid('k'), 'ch_stray');
  const list = await api.get(PATH);
  expect([list.status, dataOf(list).map(({ kind }) => kind)]).toEqual([200, ['charge_to_return']]);
  const { counts, unread } = list.body as { counts: Record<string, unknown>[]; unread: unknown };
  expect(unread).toEqual(['parked_records']);
  expect(counts.filter(({ more }) => more).map(({ kind }) => kind)).toEqual(unread);
  expect((await behind.with({ messages: new MemoryMessages(behind.clock) }).get(PATH)).body).toMatchObject({
    unread: [],
  });
});

test('the list of work says why messages are parked and how they are redriven, and who runs a missed job', async () => {
  const behind = new Api();
  const messages = new MemoryMessages(behind.clock);
  for (const queue of ['Archive-Parked', 'Events-Parked', 'Jobs-Missed']) messages.arrive(queue, { id: 'm' });
  const listed = dataOf(await behind.with({ messages }).get(PATH));
  expect(new Map(listed.map(({ queue, act, reason }) => [queue, `${String(act)}: ${String(reason)}`]))).toEqual(
    new Map<unknown, unknown>([
      ['Archive-Parked', expect.stringMatching(/^look: The messages could not be processed\. .*Run `payonce redrive`/)],
      ['Events-Parked', 'redrive: The messages could not be processed.'],
      [
        'Jobs-Missed',
        expect.stringMatching(/^run_job: .*If a job belongs to another service, ask its team to run it\./),
      ],
    ]),
  );
});

test('the entry for a mismatch contains the charge, its amount and its processor if the charge has no known payment', async () => {
  const api = new Api();
  const views = { views: api.views, digest: systemDigest };
  const { owner: _unknown, ...about } = comparedPayment('k', { subject: 'ch_stray' });
  const gone = paymentIdFor('gone');
  for (const hours of [0, 1])
    for (const [subject, named] of [
      ['ch_stray', {}],
      ['ch_gone', { paymentId: gone }],
    ] as const)
      await recordComparison(views, { ...about, subject }, { ...differsBy(1250, 0), ...named }, hours * 3_600_000);
  const listed = dataOf(await api.get(PATH));
  const shown = listed.map(({ about: id, part, amount, tenant, act }) => [id, part, amount, tenant, act]);
  expect(new Set(shown.map((each) => JSON.stringify(each)))).toEqual(
    new Set([
      JSON.stringify([null, 'ch_stray', 1250, null, 'compare']),
      JSON.stringify([gone, 'ch_gone', 1250, null, 'compare']),
    ]),
  );
  for (const { reason } of listed)
    expect(reason).toMatch(/^The processor sandbox shows 12\.50 EUR of a charge without a known payment/);
});

test('if the processor no longer returns a payment’s charge, the list of work gives this as the reason for the review', async () => {
  const api = new Api();
  const id = await api.paid('k', { source: 'tok_async' });
  const gone = {
    ...api.processor,
    findCharge: async () => ({ kind: 'absent' as const }),
    readCharge: async () => undefined,
  };
  for (let hour = 0; hour < 3; hour += 1) {
    api.clock.advance(3_600_000);
    await resolveInquiries({ ...api.world.tools, processor: gone, books: [gone] });
  }
  expect((await api.get(`/v1/payments/${id}`)).body).toMatchObject({ failure: { code: 'charge_vanished' } });
  const [entry] = dataOf(await api.get(`${PATH}?kind=payment_in_review`));
  expect(entry?.['reason']).toMatch(/^The processor showed the payment’s charge earlier, and no longer shows it\./);
});

test.each([
  ['charge_unknown', /^A callback from memory \(test mode\) is about a charge that the processor did not show\./],
  ['payment_unknown', /^A callback from memory \(test mode\) is about a charge that belongs to no known payment\./],
  ['other_account', /^A callback from memory \(test mode\) is about a charge of a payment that uses another account\./],
] as const)('the reason of an unmatched callback says why it matches no payment: %s', async (reason, expected) => {
  const api = new Api();
  await unmatchedCallback(api, 'own', false, reason);
  const [entry] = dataOf(await api.get(`${PATH}?kind=unmatched_callback`));
  expect(entry?.['reason']).toMatch(expected);
});

test('the list of queues contains all queues, without a number for a queue that cannot be counted', async () => {
  const behind = new Api();
  const messages = new MemoryMessages(behind.clock);
  const count = messages.count.bind(messages);
  messages.count = (queue) =>
    queue === 'Archive-Parked' ? Promise.reject(new RetryableError('queue_unavailable', 'away')) : count(queue);
  const queues = new Map(
    dataOf(await behind.with({ messages }).get('/v1/admin/queues')).map((each) => [each['id'], each]),
  );
  expect(queues.get('Archive-Parked')).toMatchObject({ waiting: null, more_waiting: true });
  expect(queues.get('Events-Parked')).toMatchObject({ waiting: 0, more_waiting: false });
});

test('the list of work shows an entry without a tenant if the payment of the entry cannot be read', async () => {
  const api = new Api();
  const [bad, good] = [await api.paid('bad'), await api.paid('good')];
  await stuckReturn(api, bad, 'ch_bad');
  await stuckReturn(api, good, 'ch_good');
  const store = new Proxy(api.store, {
    get: (own, name) => {
      const value: unknown = Reflect.get(own, name);
      if (typeof value !== 'function') return value;
      const bound = (value as (...of: unknown[]) => unknown).bind(own);
      if (name !== 'readEnds') return bound;
      return (...of: unknown[]) => (of[0] === bad ? Promise.reject(new SyntaxError('unreadable')) : bound(...of));
    },
  });
  const list = await api.with({ store }).get(PATH);
  expect(new Map(dataOf(list).map(({ part, tenant }) => [part, tenant]))).toEqual(
    new Map([
      ['ch_bad', null],
      ['ch_good', 'ten_desk'],
    ]),
  );
});

test('the list of work contains an unmatched callback that follows thousands of callbacks of another program', async () => {
  const api = new Api();
  for (let of = 0; of < 4_400; of += 1) await unmatchedCallback(api, `foreign-${of}`, true);
  api.clock.advance(1_000);
  await unmatchedCallback(api, 'own');
  const list = await api.get(`${PATH}?kind=unmatched_callback`);
  expect(dataOf(list).map(({ part }) => part)).toEqual(['ch_own']);
});

test('the list of jobs marks a job whose runs cannot be read, and marks no other job', async () => {
  const behind = new Api();
  const { jobRuns } = behind.store;
  const runs = Object.create(jobRuns) as typeof jobRuns;
  runs.listRuns = (id, page) => (id === 'resolve' ? Promise.reject(new SyntaxError()) : jobRuns.listRuns(id, page));
  const jobs = dataOf(await behind.with({ runs }).get('/v1/admin/jobs'));
  expect(jobs.filter(({ runs_unread: isUnread }) => isUnread).map(({ id }) => id)).toEqual(['resolve']);
});
