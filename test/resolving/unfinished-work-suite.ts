import { beforeEach, describe, expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { ownerToken, type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { SEND_WINDOW_MS } from '../../lambdas/payments/domain/settlement.ts';
import { changeIdOf, chargeOperation } from '../../lambdas/payments/ids.ts';
import type { EffectStore } from '../../lambdas/payments/use/effect-store.ts';
import {
  type ChargeToReturn,
  type Inquiry,
  inquirySubject,
  type PaymentStore,
} from '../../lambdas/payments/use/payment-store.ts';
import type { UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { completedRecord, openRecord, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { ALL_DUE } from '../support/due.ts';

export interface UnfinishedWorkUnderTest {
  readonly payments: PaymentStore;
  readonly effects: EffectStore;
  readonly work: UnfinishedWork;
}

export function describeUnfinishedWork(name: string, make: () => Promise<UnfinishedWorkUnderTest>): void {
  let made = 0;
  let payments: PaymentStore;
  let effects: EffectStore;
  let work: UnfinishedWork;
  let id: PaymentId;

  beforeEach(async () => {
    ({ payments, effects, work } = await make());
    made += 1;
    id = paymentIdFor(`unfinished-${process.pid}-${made}`);
  });

  const claim = () => payments.claim({ record: openRecord(id), pending: pendingTransition(id) });
  const { leaseExpiresAtMs, claimedAtMs } = openRecord(paymentIdFor('any'));
  const stale = async (untilMs: number) =>
    (await work.staleClaims({ ...ALL_DUE, untilMs })).filter(({ paymentId }) => paymentId === id);
  const inquiries = async (due = ALL_DUE) => [
    ...(await work.unknownOutcomes(due)),
    ...(await work.routineInquiries(due)),
  ];

  describe(`the ${name} queues of unfinished work`, () => {
    test('list a claim as stale from the end of its lease until it is completed', async () => {
      await claim();
      expect(await stale(leaseExpiresAtMs - 1)).toEqual([]);
      expect(await stale(leaseExpiresAtMs)).toEqual([openRecord(id)]);
      await payments.commit({ record: completedRecord(id), expects: 'open' });
      expect(await stale(leaseExpiresAtMs)).toEqual([]);
    });

    test('list a released claim from the end of its send window, and a claim of a new owner from the end of the new lease', async () => {
      await claim();
      await payments.release(chargeOperation(id), ownerToken('owner-a'));
      const windowEndMs = claimedAtMs + SEND_WINDOW_MS;
      expect(await stale(windowEndMs)).toEqual([]);
      const [released] = await stale(windowEndMs + 1);
      expect(released).toMatchObject({ released: true });
      const lease = { owner: ownerToken('owner-b'), leaseExpiresAtMs: claimedAtMs + 60_000 };
      await payments.takeOver({ stale: { ...openRecord(id), released: true }, ...lease });
      expect(await stale(lease.leaseExpiresAtMs - 1)).toEqual([]);
      expect(await stale(lease.leaseExpiresAtMs)).toMatchObject([{ owner: lease.owner, released: false }]);
    });

    test('list a postponed claim only from its new due time on, and still marked as undecidable', async () => {
      await claim();
      const next = { dueAtMs: leaseExpiresAtMs + 60_000, undecidable: true };
      await work.postponeClaim(openRecord(id), next);
      expect(await stale(next.dueAtMs - 1)).toEqual([]);
      expect(await stale(next.dueAtMs)).toEqual([{ ...openRecord(id), undecidable: true }]);
      await payments.commit({ record: completedRecord(id), expects: 'open' });
      await work.postponeClaim(openRecord(id), next);
      expect(await stale(next.dueAtMs)).toEqual([]);
    });

    test('list an inquiry from the commit of its 202 response until the inquiry is closed', async () => {
      await claim();
      const inquiry: Inquiry = { operationId: chargeOperation(id), paymentId: id, claimedAtMs };
      await payments.commit({ record: completedRecord(id), expects: 'open', inquiries: [inquiry] });
      expect(await inquiries()).toContainEqual(inquiry);
      await work.postponeInquiry(inquiry, { dueAtMs: 0, undecidable: true });
      expect(await inquiries()).toContainEqual({ ...inquiry, undecidable: true });
      await work.postponeInquiry({ ...inquiry, claimedAtMs: claimedAtMs - 1 }, { dueAtMs: 0, undecidable: false });
      expect(await inquiries()).toContainEqual({ ...inquiry, undecidable: true });
      await work.closeInquiry(inquiry);
      await work.closeInquiry(inquiry);
      await work.postponeInquiry(inquiry, { dueAtMs: 0, undecidable: false });
      expect(await inquiries()).not.toContainEqual(inquiry);
    });

    /** Callbacks and operators' decisions queue inquiries in this way. */
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

    test('still list an inquiry that waits for a payer after the inquiry for the books of its payment is closed, and vice versa', async () => {
      const asked = { operationId: chargeOperation(id), paymentId: id, claimedAtMs };
      const payer = await queueInquiry('payer', { ...asked, waitsFor: 'payer' });
      const books = await queueInquiry('decided', { ...asked, waitsFor: 'books' });
      await work.closeInquiry(books);
      expect(await inquiries()).toContainEqual(payer);
      await queueInquiry('decided-again', books);
      await work.closeInquiry(payer);
      expect(await inquiries()).toContainEqual(books);
    });

    test('still list a requeued read of the books if the earlier read is closed late', async () => {
      const first: Inquiry = { operationId: chargeOperation(id), paymentId: id, claimedAtMs, waitsFor: 'books' };
      await queueInquiry('first', first);
      const second = await queueInquiry('second', { ...first, claimedAtMs: claimedAtMs + 1 });
      await work.closeInquiry(first);
      expect(await inquiries()).toContainEqual(second);
    });

    test('still list an entry if its object was seen again after the entry was read; only a later reader can close it', async () => {
      const bank = {
        operationId: storedOperationId(`ch_${id}`),
        paymentId: id,
        claimedAtMs,
        waitsFor: 'bank',
      } as const;
      const held = { paymentId: id, chargeId: 'ch_8', by: 'void', foundAtMs: claimedAtMs } as const;
      await effects.queueOrNote({ toReturn: [held], inquiries: [bank] });
      const read = async () => {
        const [inquiry] = (await inquiries()).filter(({ paymentId }) => paymentId === id);
        const [owed] = (await work.chargesToReturn(ALL_DUE)).filter(({ paymentId }) => paymentId === id);
        return { inquiry, owed };
      };
      const later = { claimedAtMs: claimedAtMs + 60_000, foundAtMs: claimedAtMs + 60_000 };
      for (let times = 0; times < 2; times += 1) {
        const before = await read();
        expect(before).toMatchObject({ inquiry: bank, owed: held });
        await effects.queueOrNote({ toReturn: [{ ...held, ...later }], inquiries: [{ ...bank, ...later }] });
        await work.closeInquiry(before.inquiry as Inquiry);
        await work.closeReturn(before.owed as ChargeToReturn);
      }
      await work.postponeInquiry(bank, { dueAtMs: 0, undecidable: true });
      const newest = await read();
      expect(newest).toMatchObject({ inquiry: { ...bank, undecidable: true }, owed: held });
      await work.closeInquiry(newest.inquiry as Inquiry);
      await work.closeReturn(newest.owed as ChargeToReturn);
      expect(await read()).toEqual({});
    });

    test('list a charge separately from operations, reads of the books and other charges, even if its id equals one of their keys', async () => {
      const refund = changeIdOf(systemDigest, 'refund', id, ['refund']);
      const asked = { paymentId: id, claimedAtMs };
      const operations: readonly Inquiry[] = [
        { ...asked, operationId: chargeOperation(id) },
        { ...asked, operationId: refund },
        { ...asked, operationId: chargeOperation(id), waitsFor: 'books' },
      ];
      const ofCharge = (chargeId: string): Inquiry => ({
        ...asked,
        operationId: storedOperationId(chargeId),
        waitsFor: 'bank',
      });
      const charges = [id, refund, 'books', `charge ${id}`].map(ofCharge);
      await effects.queueOrNote({ toReturn: [], inquiries: [...operations, ...charges] });
      const listed = async () => (await inquiries()).filter(({ paymentId }) => paymentId === id);
      const keysOf = (entries: readonly Inquiry[]) => entries.map(inquirySubject).toSorted();
      const isCharge = ({ waitsFor }: Inquiry) => waitsFor === 'bank';
      expect(keysOf(await listed())).toEqual(keysOf([...operations, ...charges]));
      for (const charge of (await listed()).filter(isCharge)) await work.closeInquiry(charge);
      expect(keysOf(await listed())).toEqual(keysOf(operations));
    });

    const lookAt = (inquiry: Inquiry, dueAtMs: number, undecidable = false) =>
      work.postponeInquiry(inquiry, { dueAtMs, undecidable });

    test('return only due entries, longest due first, in small pages', async () => {
      const ids = [4, 2, 7, 1, 6, 3, 5].map((dueAtMs) => [dueAtMs, paymentIdFor(`due-${made}-${dueAtMs}`)] as const);
      const asked = new Map<number, Inquiry>();
      for (const [dueAtMs, paymentId] of ids) {
        const operationId = storedOperationId(`dp_1N${paymentId}`);
        const inquiry = await queueInquiry('opened', { operationId, paymentId, claimedAtMs, waitsFor: 'bank' });
        await lookAt(inquiry, dueAtMs);
        asked.set(dueAtMs, inquiry);
      }
      const read = (limit: number) => work.routineInquiries({ untilMs: 6, limit });
      expect(await read(3)).toEqual([1, 2, 3].map((each) => asked.get(each)));
      for (const each of [1, 2, 3]) await lookAt(asked.get(each) as Inquiry, 6 + each);
      expect(await read(5)).toEqual([4, 5, 6].map((each) => asked.get(each)));
      for (const inquiry of asked.values()) await work.closeInquiry(inquiry);
    });

    test('list an unknown outcome separately from routine look-ups and from work that waits for an operator', async () => {
      const unknown = await queueInquiry('unknown', { operationId: chargeOperation(id), paymentId: id, claimedAtMs });
      const bank = {
        operationId: storedOperationId(`dp_${id}`),
        paymentId: id,
        claimedAtMs,
        waitsFor: 'bank',
      } as const;
      await queueInquiry('opened', bank);
      expect(await work.unknownOutcomes(ALL_DUE)).toContainEqual(unknown);
      expect(await work.unknownOutcomes(ALL_DUE)).not.toContainEqual(bank);
      expect(await work.undetermined(1_000)).toContainEqual(unknown);
      expect(await work.undetermined(1_000)).not.toContainEqual(bank);
      await lookAt(unknown, 0, true);
      expect(await work.unknownOutcomes(ALL_DUE)).not.toContainEqual({ ...unknown, undecidable: true });
      expect(await work.routineInquiries(ALL_DUE)).toContainEqual({ ...unknown, undecidable: true });
      expect(await work.undetermined(1_000)).toContainEqual({ ...unknown, undecidable: true });
      await lookAt({ ...unknown, undecidable: true }, 0, false);
      expect(await work.unknownOutcomes(ALL_DUE)).toContainEqual({ ...unknown, undecidable: false });
    });

    test('list an unknown outcome as a routine look-up after it was found to wait for its payer', async () => {
      const unknown = await queueInquiry('unknown', { operationId: chargeOperation(id), paymentId: id, claimedAtMs });
      const payer = { ...unknown, waitsFor: 'payer' } as const;
      await lookAt(payer, 0);
      expect(await work.routineInquiries(ALL_DUE)).toContainEqual(payer);
      expect(await work.undetermined(1_000)).not.toContainEqual(payer);
      await lookAt(payer, 1);
      expect(await work.routineInquiries(ALL_DUE)).toContainEqual(payer);
    });

    test('do not list an inquiry from a commit whose condition failed', async () => {
      const inquiry: Inquiry = { operationId: chargeOperation(id), paymentId: id, claimedAtMs };
      const outcome = await payments.commit({ record: completedRecord(id), expects: 'open', inquiries: [inquiry] });
      expect(outcome.kind).toBe('fenced');
      expect(await inquiries()).not.toContainEqual(inquiry);
    });

    /** A callback queues stray charges in this way. */
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

    test('list a stray charge from its discovery until its return is closed', async () => {
      await claim();
      const charge = await find('found');
      expect(await work.chargesToReturn(ALL_DUE)).toContainEqual(charge);
      await work.closeReturn(charge);
      expect(await work.chargesToReturn(ALL_DUE)).not.toContainEqual(charge);
    });

    test('still list the refund of a captured stray hold if the earlier entry for its void is closed late', async () => {
      await claim();
      const hold = await find('held', { by: 'void' });
      const money = await find('taken', { by: 'refund', foundAtMs: claimedAtMs + 1 });
      await work.closeReturn(hold);
      expect(await work.chargesToReturn(ALL_DUE)).toContainEqual(money);
      expect(await work.chargesToReturn(ALL_DUE)).not.toContainEqual(hold);
      await work.postponeReturn(hold, { dueAtMs: 0, undecidable: true });
      expect(await work.chargesToReturn(ALL_DUE)).toContainEqual(money);
      await work.postponeReturn(money, { dueAtMs: 0, undecidable: true });
      expect(await work.chargesToReturn(ALL_DUE)).toContainEqual({ ...money, undecidable: true });
      await work.closeReturn({ ...money, by: 'void' });
      expect(await work.chargesToReturn(ALL_DUE)).toContainEqual({ ...money, undecidable: true });
      await work.closeReturn(money);
      expect(await work.chargesToReturn(ALL_DUE)).not.toContainEqual(money);
    });
  });
}
