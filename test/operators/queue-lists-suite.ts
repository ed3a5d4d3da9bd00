import { beforeEach, describe, expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { ownerToken, type PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import {
  OPERATOR_QUEUES,
  QUEUES,
  type QueueEntry,
  type QueueLists,
  type QueueName,
  type QueuePosition,
} from '../../lambdas/operators/use/queue-lists.ts';
import type { Effect, EffectStore, OrphanedCallback } from '../../lambdas/payments/use/effect-store.ts';
import type { Claim, PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { OrphanStore, UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { orderRequest } from '../orders/order-fixtures.ts';
import { openRecord, paymentIdFor } from '../payments/payment-fixtures.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

/** The stores contain no rows at first. */
export interface QueueListsUnderTest {
  readonly lists: QueueLists;
  readonly payments: PaymentStore;
  readonly effects: EffectStore & OrphanStore;
  readonly work: UnfinishedWork;
}

const NAMES = Object.keys(QUEUES) as QueueName[];
const COUNT = 7;

export function describeQueueLists(name: string, make: (clock: SimulatedClock) => Promise<QueueListsUnderTest>): void {
  let clock: SimulatedClock;
  let subject: QueueListsUnderTest;
  let firstMs: number;
  beforeEach(async () => {
    clock = new SimulatedClock();
    firstMs = clock.nowMs();
    subject = await make(clock);
  });

  const ids = Array.from({ length: COUNT }, (_, each) => paymentIdFor(`queue-${each}`));
  const orphanOf = (chargeId: string, paymentId: PaymentId, receivedAtMs: number): OrphanedCallback => ({
    operationId: callbackOperation(systemDigest, 'memory', chargeId),
    event: { processorName: 'memory', mode: 'test', eventId: chargeId, type: 'charge.succeeded', chargeId, paymentId },
    reason: 'payment_unknown',
    receivedAtMs,
  });

  async function record(entry: string, effect: Omit<Effect, 'record' | 'transitions'>): Promise<void> {
    const operationId = callbackOperation(systemDigest, 'memory', `evt-${entry}`);
    await subject.effects.recordEffect({
      record: { operationId, owner: ownerToken('owner-a'), recordedAtMs: firstMs },
      transitions: [],
      ...effect,
    });
  }

  /**
   * The payments are one second apart. The third payment's entries are marked for an operator, except in the queues
   * `orders` and `orphans`.
   */
  async function fill(): Promise<void> {
    for (const [each, paymentId] of ids.entries()) {
      const sinceMs = firstMs + each * 1_000;
      const marked = each === 2 ? { undecidable: true } : {};
      const claim: Claim = {
        record: openRecord(paymentId, { claimedAtMs: sinceMs, leaseExpiresAtMs: sinceMs + 25_000 }),
      };
      await subject.payments.claim(claim);
      if (each === 2) {
        await subject.work.postponeClaim(claim.record, { dueAtMs: sinceMs + 25_000, undecidable: true });
      }
      const { orderId } = orderRequest(`order-${each}`);
      const kept = orphanOf(`ch_kept_${each}`, paymentId, sinceMs);
      await record(`work-${each}`, {
        inquiries: [{ operationId: claim.record.operationId, paymentId, claimedAtMs: sinceMs, ...marked }],
        toReturn: [{ paymentId, chargeId: `ch_${each}`, by: 'refund', foundAtMs: sinceMs, ...marked }],
        hold: { paymentId, authorizedAtMs: sinceMs, ...marked, ...(each === 2 ? { dueAtMs: sinceMs } : {}) },
        reopened: { orderId, createdAtMs: sinceMs, sequence: 1 },
        orphan: orphanOf(`ch_${each}`, paymentId, sinceMs),
      });
      await record(`kept-${each}`, { orphan: kept });
      await subject.effects.giveUp(kept);
    }
  }

  async function listed(queue: QueueName, limit: number): Promise<readonly QueueEntry[]> {
    const entries: QueueEntry[] = [];
    let after: QueuePosition | undefined;
    for (;;) {
      const page = await subject.lists.page(queue, { limit, ...(after === undefined ? {} : { after }) });
      expect(page.length).toBeLessThanOrEqual(limit);
      entries.push(...page.map(({ entry }) => entry));
      after = page.at(-1)?.place;
      if (page.length < limit) return entries.toSorted((left, right) => Number(left.sinceMs) - Number(right.sinceMs));
    }
  }

  const aboutOf = (queue: QueueName, each: number) =>
    queue === 'orders' ? orderRequest(`order-${each}`).orderId : ids[each];
  const PART_OF: Readonly<Record<QueueName, (each: number) => string | undefined>> = {
    claims: (each) => ids[each],
    inquiries: (each) => ids[each],
    returns: (each) => `ch_${each}`,
    orders: () => undefined,
    holds: () => undefined,
    orphans: (each) => `ch_${each}`,
    unmatched_callbacks: (each) => `ch_kept_${each}`,
  };

  describe(`the ${name} queue lists`, () => {
    test('are empty without work', async () => {
      for (const queue of NAMES) {
        expect(await subject.lists.summary(queue)).toEqual({ waiting: 0, hasMore: false });
        expect(await subject.lists.page(queue, { limit: 9 })).toEqual([]);
      }
    });

    test('show each entry once, in pages of any size, with its payment or order, its age and whether it needs an operator', async () => {
      await fill();
      clock.advance(60_000);
      for (const queue of NAMES) {
        const entries = ids.map((_, each) => {
          const part = PART_OF[queue](each);
          const isMarked = each === 2 && queue !== 'orders' && queue !== 'orphans';
          return {
            about: aboutOf(queue, each),
            ...(part === undefined ? {} : { part }),
            ...(queue === 'unmatched_callbacks'
              ? { callback: expect.objectContaining({ reason: 'payment_unknown' }) }
              : {}),
            sinceMs: firstMs + each * 1_000,
            needsOperator: isMarked || queue === 'unmatched_callbacks',
          };
        });
        expect([queue, await listed(queue, 3)]).toEqual([queue, entries]);
        expect(await listed(queue, COUNT)).toEqual(entries);
        expect(await subject.lists.summary(queue)).toEqual({ waiting: COUNT, hasMore: false, oldestMs: firstMs });
      }
    });

    test('find the entries that need an operator', async () => {
      await fill();
      clock.advance(60_000);
      for (const queue of OPERATOR_QUEUES) {
        const { entries, hasMore } = await subject.lists.needingOperator(queue);
        const needed = queue === 'unmatched_callbacks' ? ids : ids.slice(2, 3);
        expect([queue, new Set(entries.map(({ about }) => about))]).toEqual([queue, new Set(needed)]);
        expect(entries).toHaveLength(needed.length);
        expect(entries.every(({ needsOperator }) => needsOperator)).toBe(true);
        expect(hasMore).toBe(false);
      }
    });

    test('list an unmatched callback of another program, but not as work for an operator', async () => {
      for (const [each, paymentId] of ids.slice(0, 2).entries()) {
        const waiting = orphanOf(`ch_${each}`, paymentId, firstMs);
        await record(`foreign-${each}`, { orphan: waiting });
        // The last look-up determines `isForeign`, which says whether another program caused the callback.
        await subject.effects.giveUp({ ...waiting, isForeign: each === 0 });
      }
      const entries = await listed('unmatched_callbacks', 9);
      expect(new Map(entries.map(({ part, needsOperator }) => [part, needsOperator] as const))).toEqual(
        new Map([
          ['ch_0', false],
          ['ch_1', true],
        ]),
      );
      expect((await subject.lists.needingOperator('unmatched_callbacks')).entries).toMatchObject([{ part: 'ch_1' }]);
    });

    test('show a claim only after its lease has expired', async () => {
      await fill();
      clock.advance(25_000 + 2_000);
      expect(await listed('claims', 9)).toHaveLength(3);
      expect(await subject.lists.summary('claims')).toMatchObject({ waiting: 3 });
    });

    test('show an empty page after the last position of a queue', async () => {
      await fill();
      clock.advance(60_000);
      for (const queue of NAMES) {
        let after = (await subject.lists.page(queue, { limit: COUNT })).at(-1)?.place;
        if (after === undefined) throw new Error(`the queue ${queue} is empty`);
        expect(await subject.lists.page(queue, { after, limit: COUNT })).toEqual([]);
        after = { shard: 99, sort: queue === 'claims' ? '999999999999999 OP#pay_a' : '~' };
        expect(await subject.lists.page(queue, { after, limit: COUNT })).toEqual([]);
      }
    });
  });
}
