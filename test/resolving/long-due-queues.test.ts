/** Tests that due entries of the queues of holds, commissions and webhooks are handled despite many other entries. */
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Commission } from '../../lambdas/follow-ups/commission.ts';
import { commissionDueKey } from '../../lambdas/follow-ups/commission-rows.ts';
import { keepCommission } from '../../lambdas/follow-ups/keep-commission.ts';
import { releaseCommissionsJob } from '../../lambdas/follow-ups/release-commissions.ts';
import { JOB_DEFAULT_MAX_DURATION_SECONDS } from '../../lambdas/jobs/contract/runs.ts';
import { acceptedRun, type JobRun, type PageProgress } from '../../lambdas/jobs/domain/job-run.ts';
import type { Job } from '../../lambdas/jobs/use/job.ts';
import { workPage } from '../../lambdas/jobs/use/work-page.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute, RegistryTable } from '../../lambdas/kernel/contract/tables.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { shardOf } from '../../lambdas/kernel/platform/items.ts';
import { HOLDS, holdItem } from '../../lambdas/payments/store/queue-items.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { DynamoDbDueQueue } from '../../lambdas/resolving/store/dynamodb-due-queue.ts';
import { expireAuthorizationsJob } from '../../lambdas/resolving/use/expire-authorizations.ts';
import { DynamoDbWebhooks } from '../../lambdas/webhooks/store/dynamodb-webhooks.ts';
import { sweepWebhooks } from '../../lambdas/webhooks/use/sweep-webhooks.ts';
import type { GroupedTask } from '../../lambdas/webhooks/use/webhooks.ts';
import { chainOfPaid, disputed, eventsOfPaid } from '../payments/paid-chain.ts';
import { paymentIdFor, paymentRequest } from '../payments/payment-fixtures.ts';
import { whole } from '../support/slice.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const LONG_MS = 600_000;

/** A slice has fewer entries, but each of its simulated reads takes longer. */
const ENTRIES = whole(25_000, { slice: 250 });

let harness: World;
/** The times of all reads of each entry, in Unix milliseconds. */
let looked: Map<string, number[]>;
let startedAtMs: number;
beforeEach(() => {
  harness = new World();
  looked = new Map();
  startedAtMs = harness.clock.nowMs();
});

const put = (Item: Record<string, unknown>) =>
  harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
const names = (prefix: string, count = ENTRIES) => Array.from({ length: count }, (_, each) => `${prefix}-${each}`);

/** A run starts no page after its maximum duration. */
async function runHourly<Thing>(jobId: string, hours: number, job: Job<Thing>): Promise<void> {
  const { clock } = harness;
  for (let hour = 0; hour < hours; hour += 1) {
    const scheduledForMs = startedAtMs + hour * HOUR_MS;
    clock.advance(Math.max(0, scheduledForMs - clock.nowMs()));
    const acceptedAtMs = clock.nowMs();
    const accepted = acceptedRun(jobId, scheduledForMs, acceptedAtMs);
    let page: PageProgress | undefined;
    do {
      const at: JobRun = page?.cursor === undefined ? accepted : { ...accepted, cursor: page.cursor };
      page = await workPage({ job, clock, report: () => undefined }, at, 'whole_page');
    } while (page.cursor !== undefined && clock.nowMs() - acceptedAtMs < JOB_DEFAULT_MAX_DURATION_SECONDS * 1_000);
  }
}

/** Concurrent reads take the time only once. */
async function take(ms: number): Promise<void> {
  const endMs = harness.clock.nowMs() + ms;
  await new Promise(setImmediate);
  harness.clock.advance(Math.max(0, endMs - harness.clock.nowMs()));
}

describe('a hold', () => {
  /** Time of 25,000 sequential reads of holds, in milliseconds. Each read times out after 5,000 ms. */
  const ALL_SLOW_MS = 25_000 * 5_000;
  const HOLDS_AT_ONCE = 10;
  const SHORT_MS = DAY_MS;
  const LONG_VALIDITY_MS = DAY_MS + 8 * HOUR_MS;
  const MARGIN_MS = 2 * HOUR_MS;

  test(
    'is voided within hours, although it is in the last shard, and many other holds are unreadable, valid for longer or fail slowly',
    async () => {
      const { clock, processor } = harness;
      const lastShard = HOLDS.shards() - 1;
      const lastNames = names('last', 200).filter((name) => shardOf(paymentIdFor(name), HOLDS.shards()) === lastShard);
      const [first = '', second = '', kept = ''] = lastNames;
      const validFor = (name: string, holdValidityMs: number) => ({
        ...processor,
        name,
        abilities: { ...processor.abilities, holdValidityMs },
      });
      const own = validFor(processor.name, SHORT_MS);
      const longer = validFor('longer', LONG_VALIDITY_MS);
      await harness.pay(paymentRequest(kept, { capture: 'manual' }));
      const chainOfKept = (await harness.store.listTransitions(paymentIdFor(kept), { afterSequence: 0, limit: 9 })).map(
        (each) => ({ ...each, payment: { ...each.payment, processorName: longer.name } }),
      );
      const others = names('other').map((name) => paymentIdFor(name));
      const kind = (each: number) => (['kept', 'failing', 'unreadable'] as const)[each % 3];
      const kinds = new Map<string, ReturnType<typeof kind>>(others.map((paymentId, each) => [paymentId, kind(each)]));
      for (const paymentId of others) {
        await put(holdItem(TABLES, { paymentId, authorizedAtMs: clock.nowMs() }).Put?.Item ?? {});
      }
      clock.advance(MINUTE_MS);
      await harness.pay(paymentRequest(first, { capture: 'manual' }));
      clock.advance(5 * HOUR_MS);
      await harness.pay(paymentRequest(second, { capture: 'manual' }));
      clock.advance(SHORT_MS + MARGIN_MS - 5 * HOUR_MS);
      startedAtMs = clock.nowMs();
      const payments = harness.storeMethods();
      const store: PaymentStore = {
        ...payments,
        listTransitions: async (...asked) => {
          const [paymentId] = asked;
          looked.set(paymentId, [...(looked.get(paymentId) ?? []), clock.nowMs()]);
          if (kinds.get(paymentId) === 'kept') return chainOfKept;
          if (kinds.get(paymentId) === undefined) return payments.listTransitions(...asked);
          await take(ALL_SLOW_MS / ENTRIES);
          throw new RetryableError('processor_unreachable', 'no');
        },
      };
      const queues = { client: harness.store.database.client, table: TABLES.registry, pacing: harness.basics };
      const parse: typeof HOLDS.parse = (item) => {
        const hold = HOLDS.parse(item);
        if (kinds.get(hold.paymentId) === 'unreadable') throw new Error('in an unknown format');
        return hold;
      };
      const holds = new DynamoDbDueQueue({ ...queues, unreadable: () => undefined }, { ...HOLDS, parse });
      const job = expireAuthorizationsJob({ ...harness.tools, store, holds, processors: [own, longer] });
      const boundMs = HOUR_MS + ALL_SLOW_MS / HOLDS_AT_ONCE;
      await runHourly('expire-authorizations', 24, job);
      const voidedAt = async (name: string) =>
        (await harness.store.listTransitions(paymentIdFor(name), { afterSequence: 0, limit: 9 })).find(
          ({ type }) => type === 'payment.canceled',
        )?.occurredAtMs;
      expect(await voidedAt(first)).toBeLessThanOrEqual(startedAtMs + boundMs);
      expect(await voidedAt(second)).toBeLessThanOrEqual(startedAtMs + 5 * HOUR_MS + boundMs);
      const ofKind = (wanted: ReturnType<typeof kind>) => others.filter((paymentId) => kinds.get(paymentId) === wanted);
      const keptUntilMs = startedAtMs - MINUTE_MS + LONG_VALIDITY_MS - SHORT_MS;
      const looksOfKept = ofKind('kept').map((paymentId) => looked.get(paymentId) ?? []);
      expect(Math.max(...looksOfKept.map((times) => times.filter((atMs) => atMs < keptUntilMs).length))).toBe(1);
      const firstDue = looksOfKept.map(
        (times) => times.find((atMs) => atMs >= keptUntilMs) ?? Number.POSITIVE_INFINITY,
      );
      expect(Math.max(...firstDue)).toBeLessThanOrEqual(keptUntilMs + boundMs);
      const gaps = ofKind('failing').flatMap((paymentId) => {
        const times = [startedAtMs, ...(looked.get(paymentId) ?? []), clock.nowMs()];
        return times.slice(1).map((atMs, index) => atMs - (times[index] ?? atMs));
      });
      expect(gaps.reduce((longest, gap) => Math.max(longest, gap), 0)).toBeLessThanOrEqual(boundMs);
      expect(harness.store.database.items(TABLES.registry, RegistryRow.hold)).toHaveLength(ENTRIES);
    },
    LONG_MS,
  );
});

test(
  'a commission is released by the run after its lock period, although many others wait for disputes or fail slowly',
  async () => {
    const { store, clock, basics } = harness;
    /** Time to read 25,000 commissions one after the other, at 250 ms per read, in milliseconds. */
    const allSlowMs = 25_000 * 250;
    const paid = eventsOfPaid('commission', { affiliate: 'aff_7', order: 'own' })[0];
    if (paid === undefined) throw new Error('the payment has no event');
    await keepCommission({ ...basics, records: store.consumed }, paid);
    const disputedChain = chainOfPaid('disputed', {}, [disputed('open')]);
    const releasesAtMs = clock.nowMs() - 400 * DAY_MS;
    const foreign = new Map(names('order').map((orderId, each) => [orderId, each % 2 === 0 ? 'disputed' : 'failing']));
    const nameOf = (orderId: string) => ({ tenantId: paid.tenant, mode: paid.mode, affiliate: 'aff_7', orderId });
    const paymentOf = (orderId: string) => (foreign.has(orderId) ? paymentIdFor(orderId) : undefined);
    const commissionOf = (orderId: string): Commission => ({
      ...nameOf(orderId),
      paymentId: paymentIdFor(orderId),
      amountMinor: 100,
      currency: 'EUR',
      status: 'locked',
      releasesAtMs,
      sequence: 2,
    });
    for (const orderId of foreign.keys()) {
      const { partition, sort } = commissionDueKey(commissionOf(orderId));
      const due = {
        tenant: paid.tenant,
        mode: paid.mode,
        affiliate: 'aff_7',
        order: orderId,
        payment: paymentOf(orderId),
      };
      await put({ [KeyAttribute.partition]: partition, [KeyAttribute.sort]: sort, ...due, releasesAtMs });
    }
    const orderOf = new Map([...foreign.keys()].map((orderId) => [String(paymentIdFor(orderId)), orderId]));
    const own = chainOfPaid('commission', { affiliate: 'aff_7', order: 'own' });
    clock.advance(60 * DAY_MS);
    startedAtMs = clock.nowMs();
    const job = releaseCommissionsJob({
      ...basics,
      book: {
        due: store.commissions.due,
        readCommission: async (name) =>
          foreign.has(name.orderId) ? commissionOf(name.orderId) : store.commissions.readCommission(name),
      },
      payments: {
        listTransitions: async (paymentId) => {
          const orderId = orderOf.get(paymentId);
          if (orderId === undefined) return own;
          await take(allSlowMs / ENTRIES);
          if (foreign.get(orderId) === 'failing') throw new RetryableError('store_unavailable', 'no');
          return disputedChain;
        },
      },
      orders: { listOrderTransitions: async () => [] },
      records: store.consumed,
    });
    await runHourly('release-commissions', 1, job);
    expect(await store.commissions.readCommission(nameOf('own'))).toMatchObject({ status: 'released' });
  },
  LONG_MS,
);

test(
  'a webhook replay whose message was lost is queued again, although many rows of its partition cannot be read',
  async () => {
    const { store, clock, basics } = harness;
    const entries = Math.max(1_000, ENTRIES);
    const reported: unknown[] = [];
    const pacing = { clock, entropy: basics.entropy };
    const webhooks = new DynamoDbWebhooks(store.database.client, TABLES, pacing, (error) => void reported.push(error));
    const { partitionKey, sortKey } = RegistryTable.dueIndex;
    const id = `rpl_${'a'.repeat(32)}`;
    const times = { fromMs: 0, untilMs: 1, createdAtMs: startedAtMs, dueAtMs: startedAtMs, sweepAtMs: startedAtMs };
    const owner = { tenantId: paymentRequest('replay').tenantId, mode: 'test' } as const;
    const now = { id, endpointId: 'we_a', ...owner, revision: 1, status: 'running', sent: 0, ...times } as const;
    await webhooks.write({ replay: { now } });
    const row = store.row({ table: 'registry', partition: `${RegistryRow.webhookReplay}${id}`, sort: 'REPLAY' });
    for (const name of names('unreadable', entries)) {
      const due = { [partitionKey]: row?.[partitionKey], [sortKey]: startedAtMs - HOUR_MS };
      await put({ [KeyAttribute.partition]: RegistryRow.apiKeys, [KeyAttribute.sort]: name, ...due });
    }
    const queuedAtMs: number[] = [];
    const tasks = {
      enqueue: async (queued: readonly GroupedTask[]) =>
        void queuedAtMs.push(...queued.flatMap(({ task }) => (task.kind === 'replay' ? clock.nowMs() : []))),
    };
    const sweep = () =>
      sweepWebhooks({
        webhooks,
        due: webhooks,
        tasks,
        clock,
        publish: async (events) => events.map(() => ({ kind: 'published' })),
        report: (error) => {
          throw error;
        },
        waiting: () => undefined,
      });
    // A sweep reads up to 400 rows.
    for (let minute = 0; minute <= Math.ceil(entries / 400); minute += 1) {
      await sweep();
      clock.advance(MINUTE_MS);
    }
    expect(queuedAtMs.length).toBeGreaterThan(0);
    expect(reported.length).toBeGreaterThanOrEqual(entries);
  },
  LONG_MS,
);
