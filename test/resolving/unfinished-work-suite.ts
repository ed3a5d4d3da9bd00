import { beforeEach, describe, expect, test } from '@jest/globals';
import {
  callbackOperation,
  chargeOperation,
  ownerToken,
  type PaymentId,
  storedOperationId,
} from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { QUEUE_SHARDS } from '../../lambdas/kernel/platform/queue-rows.ts';
import { inquiryKey } from '../../lambdas/payments/store/queue-items.ts';
import type { EffectStore } from '../../lambdas/payments/use/effect-store.ts';
import type { ChargeToReturn, Inquiry, PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { completedRecord, openRecord, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';

export interface UnfinishedWorkUnderTest {
  readonly payments: PaymentStore;
  readonly effects: EffectStore;
  readonly work: UnfinishedWork;
  /** Advances the clock by a minute. */
  readonly nextRun: () => void;
}

const LIMIT = 1_000;
/** After this many runs, one per minute, every waiting item was read once. */
const RUNS = 5_000;
/** Too few for a start between two ids that begin alike: a read that goes backwards finds the second one. */
const FEW_RUNS = 500;
const MANY_CALLS_MS = 60_000;

/** The contract of every UnfinishedWork. */
export function describeUnfinishedWork(name: string, make: () => Promise<UnfinishedWorkUnderTest>): void {
  let made = 0;
  let payments: PaymentStore;
  let effects: EffectStore;
  let work: UnfinishedWork;
  let nextRun: () => void;
  let id: PaymentId;

  beforeEach(async () => {
    ({ payments, effects, work, nextRun } = await make());
    made += 1;
    id = paymentIdFor(`unfinished-${process.pid}-${made}`);
  });

  const claim = () => payments.claim({ record: openRecord(id), pending: pendingTransition(id) });
  const { leaseExpiresAtMs, claimedAtMs } = openRecord(paymentIdFor('any'));
  const stale = async (nowMs: number) =>
    (await work.staleClaims(nowMs, LIMIT)).filter(({ paymentId }) => paymentId === id);

  describe(`the ${name} queues of unfinished work`, () => {
    test('show the mark of a stale claim, also after a takeover, and mark no completed one', async () => {
      const record = openRecord(id);
      await claim();
      await work.markClaim(record);
      expect(await stale(leaseExpiresAtMs)).toEqual([{ ...record, undecidable: true }]);
      const owner = ownerToken('owner-b');
      await payments.takeOver({ stale: record, owner, leaseExpiresAtMs });
      expect(await stale(leaseExpiresAtMs)).toMatchObject([{ owner, undecidable: true }]);
      await payments.commit({ record: { ...completedRecord(id), owner }, expects: 'open' });
      await work.markClaim(record);
      expect(await payments.readRecord(record.operationId)).toEqual({ ...completedRecord(id), owner });
    });

    test('show a claim once its lease has ended, until it is completed', async () => {
      await claim();
      expect(await stale(leaseExpiresAtMs - 1)).toEqual([]);
      expect(await stale(leaseExpiresAtMs)).toEqual([openRecord(id)]);
      await payments.commit({ record: completedRecord(id), expects: 'open' });
      expect(await stale(leaseExpiresAtMs)).toEqual([]);
    });

    test('show a released claim at once', async () => {
      await claim();
      await payments.release(chargeOperation(id), ownerToken('owner-a'));
      expect(await stale(claimedAtMs)).toMatchObject([{ released: true }]);
    });

    test('show an inquiry from the commit of its 202 answer until it is closed', async () => {
      await claim();
      const inquiry: Inquiry = { operationId: chargeOperation(id), paymentId: id, claimedAtMs };
      await payments.commit({ record: completedRecord(id), expects: 'open', inquiry });
      expect(await work.inquiries(LIMIT)).toContainEqual(inquiry);
      await work.markInquiry(inquiry, true);
      expect(await work.inquiries(LIMIT)).toContainEqual({ ...inquiry, undecidable: true });
      await work.markInquiry({ ...inquiry, claimedAtMs: claimedAtMs - 1 }, false);
      expect(await work.inquiries(LIMIT)).toContainEqual({ ...inquiry, undecidable: true });
      await work.closeInquiry(inquiry);
      await work.closeInquiry(inquiry);
      await work.markInquiry(inquiry, false);
      expect(await work.inquiries(LIMIT)).not.toContainEqual(inquiry);
    });

    /** Queued by an effect, as callbacks and operators' decisions do. */
    const queueInquiry = async (event: string, inquiry: Inquiry): Promise<Inquiry> => {
      const record = {
        operationId: callbackOperation(systemDigest, 'memory', `${inquiry.paymentId}-${event}`),
        paymentId: inquiry.paymentId,
        owner: ownerToken('owner-a'),
        recordedAtMs: claimedAtMs,
      };
      await effects.recordEffect({ record, transitions: [], inquiries: [inquiry] });
      return inquiry;
    };

    test('keep the look for the payer when a look at the books is queued and closed', async () => {
      const asked = { operationId: chargeOperation(id), paymentId: id, claimedAtMs };
      const payer = await queueInquiry('payer', { ...asked, waitsFor: 'payer' });
      const books = await queueInquiry('decided', { ...asked, waitsFor: 'books' });
      await work.closeInquiry(books);
      expect(await work.inquiries(LIMIT)).toContainEqual(payer);
      await queueInquiry('decided-again', books);
      await work.closeInquiry(payer);
      expect(await work.inquiries(LIMIT)).toContainEqual(books);
    });

    test('keep a look at the books that was queued again when the earlier one is closed late', async () => {
      const first: Inquiry = { operationId: chargeOperation(id), paymentId: id, claimedAtMs, waitsFor: 'books' };
      await queueInquiry('first', first);
      const second = await queueInquiry('second', { ...first, claimedAtMs: claimedAtMs + 1 });
      await work.closeInquiry(first);
      expect(await work.inquiries(LIMIT)).toContainEqual(second);
    });

    test(
      'return every dispute of a processor within a number of reads, whatever its ids look like',
      async () => {
        const ids = Array.from({ length: 24 }, (_, each) => paymentIdFor(`disputed-${made}-${each}`));
        for (const each of ids) {
          const operationId = storedOperationId(`dp_1N${each}`);
          await queueInquiry('opened', { operationId, paymentId: each, claimedAtMs, waitsFor: 'bank' });
        }
        const seen = new Set<PaymentId>();
        for (let run = 0; run < RUNS && seen.size < ids.length; run += 1) {
          nextRun();
          for (const { paymentId } of await work.inquiries(8)) if (ids.includes(paymentId)) seen.add(paymentId);
        }
        expect(ids.filter((each) => !seen.has(each))).toEqual([]);
        nextRun();
        expect((await work.inquiries(3)).length).toBeLessThanOrEqual(3);
      },
      MANY_CALLS_MS,
    );

    test(
      'return an inquiry that lies close behind another one, although only one of its shard fits into a read',
      async () => {
        const near = new Map<string, PaymentId[]>();
        let pair: readonly PaymentId[] = [];
        for (let each = 0; pair.length < 2; each += 1) {
          const one = paymentIdFor(`near-${made}-${each}`);
          const { pk } = inquiryKey({ operationId: chargeOperation(one), paymentId: one, claimedAtMs });
          const place = `${String(pk)} ${one.slice(0, 'pay_ab'.length)}`;
          pair = [...(near.get(place) ?? []), one];
          near.set(place, [...pair]);
        }
        for (const each of pair) {
          await payments.claim({ record: openRecord(each), pending: pendingTransition(each) });
          const inquiry: Inquiry = { operationId: chargeOperation(each), paymentId: each, claimedAtMs };
          await payments.commit({ record: completedRecord(each), expects: 'open', inquiry });
        }
        const seen = new Set<PaymentId>();
        for (let run = 0; run < FEW_RUNS && seen.size < pair.length; run += 1) {
          nextRun();
          for (const { paymentId } of await work.inquiries(8)) if (pair.includes(paymentId)) seen.add(paymentId);
        }
        expect(pair.filter((each) => !seen.has(each))).toEqual([]);
      },
      MANY_CALLS_MS,
    );

    test('have no inquiry of a commit that failed its condition', async () => {
      const inquiry: Inquiry = { operationId: chargeOperation(id), paymentId: id, claimedAtMs };
      const outcome = await payments.commit({ record: completedRecord(id), expects: 'open', inquiry });
      expect(outcome.kind).toBe('fenced');
      expect(await work.inquiries(LIMIT)).not.toContainEqual(inquiry);
    });

    test(
      'return every inquiry within a number of reads, although few fit into one read and none is closed',
      async () => {
        const ids = Array.from({ length: 24 }, (_, each) => paymentIdFor(`many-${made}-${each}`));
        for (const each of ids) {
          await payments.claim({ record: openRecord(each), pending: pendingTransition(each) });
          const inquiry: Inquiry = { operationId: chargeOperation(each), paymentId: each, claimedAtMs };
          await payments.commit({ record: completedRecord(each), expects: 'open', inquiry });
        }
        const seen = new Set<PaymentId>();
        for (let run = 0; run < RUNS && seen.size < ids.length; run += 1) {
          nextRun();
          const read = await work.inquiries(4);
          // At least one of each shard.
          expect(read.length).toBeLessThanOrEqual(Math.max(4, QUEUE_SHARDS));
          for (const { paymentId } of read) if (ids.includes(paymentId)) seen.add(paymentId);
        }
        expect(ids.filter((each) => !seen.has(each))).toEqual([]);
      },
      MANY_CALLS_MS,
    );

    test(
      'return every stale claim within a number of reads, although few fit into one read and none is completed',
      async () => {
        const ids = Array.from({ length: 8 }, (_, each) => paymentIdFor(`stale-${made}-${each}`));
        for (const each of ids) await payments.claim({ record: openRecord(each), pending: pendingTransition(each) });
        const seen = new Set<PaymentId>();
        for (let run = 0; run < RUNS && seen.size < ids.length; run += 1) {
          const read = await work.staleClaims(leaseExpiresAtMs + run * 60_000, 4);
          expect(read.length).toBeLessThanOrEqual(4);
          for (const { paymentId } of read) if (ids.includes(paymentId)) seen.add(paymentId);
        }
        expect(ids.filter((each) => !seen.has(each))).toEqual([]);
      },
      MANY_CALLS_MS,
    );

    /** Found by one processor event. */
    const find = async (event: string, found: Partial<ChargeToReturn> = {}): Promise<ChargeToReturn> => {
      const charge: ChargeToReturn = {
        paymentId: id,
        chargeId: 'ch_9',
        by: 'refund',
        foundAtMs: claimedAtMs,
        ...found,
      };
      const record = {
        operationId: callbackOperation(systemDigest, 'memory', `${id}-${event}`),
        paymentId: id,
        owner: ownerToken('owner-a'),
        recordedAtMs: claimedAtMs,
      };
      await effects.recordEffect({ record, transitions: [], toReturn: [charge] });
      return charge;
    };

    test('show a charge to return with the effect that found it, until it is closed', async () => {
      await claim();
      const charge = await find('found');
      expect(await work.chargesToReturn(LIMIT)).toContainEqual(charge);
      await work.closeReturn(charge);
      expect(await work.chargesToReturn(LIMIT)).not.toContainEqual(charge);
    });

    test('keep a hold that was queued again as a refund when the void is closed late', async () => {
      await claim();
      const hold = await find('held', { by: 'void' });
      const money = await find('taken', { by: 'refund', foundAtMs: claimedAtMs + 1 });
      await work.closeReturn(hold);
      expect(await work.chargesToReturn(LIMIT)).toContainEqual(money);
      expect(await work.chargesToReturn(LIMIT)).not.toContainEqual(hold);
      await work.markReturn(hold, true);
      expect(await work.chargesToReturn(LIMIT)).toContainEqual(money);
      await work.markReturn(money, true);
      expect(await work.chargesToReturn(LIMIT)).toContainEqual({ ...money, undecidable: true });
      await work.closeReturn(money);
      expect(await work.chargesToReturn(LIMIT)).not.toContainEqual(money);
    });
  });
}
