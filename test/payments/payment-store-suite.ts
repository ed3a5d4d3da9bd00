/** Tests the guarantee "one answer". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { ownerToken, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { completedRecord, openRecord, outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

export interface StoreUnderTest {
  readonly store: PaymentStore;
  /** Removes a record, as time to live does. */
  readonly deleteRecord: (paymentId: PaymentId) => Promise<void>;
}

const OWNER_B = ownerToken('owner-b');

/** The tests run on in-memory DynamoDB, on the DynamoDB API and on PostgreSQL. */
export function describePaymentStore(name: string, make: () => Promise<StoreUnderTest>): void {
  let made = 0;
  let underTest: StoreUnderTest;
  let store: PaymentStore;
  let id: PaymentId;

  beforeEach(async () => {
    underTest = await make();
    store = underTest.store;
    made += 1;
    id = paymentIdFor(`suite-${process.pid}-${made}`);
  });

  const claimed = async (reference?: string): Promise<void> => {
    const outcome = await store.claim({
      record: openRecord(id),
      pending: pendingTransition(id, reference),
      ...(reference === undefined ? {} : { reference: { name: nameOf(reference) } }),
    });
    expect(outcome).toEqual({ kind: 'claimed' });
  };
  const nameOf = (reference: string) => ({ tenantId: tenantId('ten_fixture'), mode: 'test' as const, reference });
  const completed = () =>
    store.commit({
      record: completedRecord(id),
      expects: 'open',
      transition: outcomeTransition(pendingTransition(id), { kind: 'succeeded', chargeId: 'ch_1' }),
    });

  describe(`${name}: claim`, () => {
    test('writes the record and the pending transition atomically', async () => {
      await claimed();
      expect(await store.readRecord(chargeOperation(id))).toEqual(openRecord(id));
      expect(await store.readPayment(id)).toEqual({ first: pendingTransition(id), newest: pendingTransition(id) });
    });

    test('is refused if a rival has the claim, and returns the rival’s record', async () => {
      await claimed();
      const outcome = await store.claim({
        record: openRecord(id, { owner: OWNER_B }),
        pending: pendingTransition(id),
      });
      expect(outcome).toEqual({ kind: 'record_exists', record: openRecord(id) });
    });

    test('is refused if the record is completed, and returns the stored response', async () => {
      await claimed();
      await completed();
      const outcome = await store.claim({ record: openRecord(id, { owner: OWNER_B }), pending: pendingTransition(id) });
      expect(outcome).toEqual({ kind: 'record_exists', record: completedRecord(id) });
    });

    test('is refused and writes nothing if the record was lost but transition 1 exists', async () => {
      await claimed();
      await underTest.deleteRecord(id);
      const outcome = await store.claim({ record: openRecord(id, { owner: OWNER_B }), pending: pendingTransition(id) });
      expect(outcome).toEqual({ kind: 'transition_exists' });
      expect(await store.readRecord(chargeOperation(id))).toBeUndefined();
    });

    test('restores a lost record without writing a transition', async () => {
      await claimed();
      await underTest.deleteRecord(id);
      const record = openRecord(id, { owner: OWNER_B });
      expect(await store.claim({ record })).toEqual({ kind: 'claimed' });
      expect(await store.readRecord(chargeOperation(id))).toEqual(record);
    });

    test('is refused if the reference is in use, returns the holder of the reference and writes nothing', async () => {
      const reference = `order-${made}-${process.pid}`;
      await claimed(reference);
      const other = paymentIdFor(`suite-other-${process.pid}-${made}`);
      const outcome = await store.claim({
        record: openRecord(other),
        pending: pendingTransition(other, reference),
        reference: { name: nameOf(reference) },
      });
      expect(outcome).toEqual({ kind: 'reference_taken', paymentId: id });
      expect(await store.readPayment(other)).toBeUndefined();
      expect(await store.readRecord(chargeOperation(other))).toBeUndefined();
    });

    test.each(['the same payment', 'another payment'])(
      'is refused if the record was lost but transition 1 exists, even if %s holds the reference',
      async (holder) => {
        const reference = `order-${made}-${process.pid}`;
        const other = paymentIdFor(`suite-other-${process.pid}-${made}`);
        await claimed(holder === 'the same payment' ? reference : undefined);
        await underTest.deleteRecord(id);
        const claim = (paymentId: PaymentId) =>
          store.claim({
            record: openRecord(paymentId),
            pending: pendingTransition(paymentId, reference),
            reference: { name: nameOf(reference) },
          });
        if (holder !== 'the same payment') expect(await claim(other)).toEqual({ kind: 'claimed' });
        expect(await claim(id)).toEqual({ kind: 'transition_exists' });
        expect(await store.readRecord(chargeOperation(id))).toBeUndefined();
      },
    );

    test('replaces the holder of a reference only if the holder has not changed', async () => {
      const reference = `order-${made}-${process.pid}`;
      await claimed(reference);
      const second = paymentIdFor(`suite-second-${process.pid}-${made}`);
      const third = paymentIdFor(`suite-third-${process.pid}-${made}`);
      const replacing = (paymentId: PaymentId) =>
        store.claim({
          record: openRecord(paymentId),
          pending: pendingTransition(paymentId, reference),
          reference: { name: nameOf(reference), replaces: id },
        });
      expect(await replacing(second)).toEqual({ kind: 'claimed' });
      expect(await replacing(third)).toEqual({ kind: 'reference_taken', paymentId: second });
    });
  });

  /** Matches the time of the last update, which the store's clock sets. */
  const CHANGED = { changedAtMs: expect.any(Number) };
  const taken = (how: { readonly released?: true } = {}) => ({
    ...openRecord(id, { owner: OWNER_B, leaseExpiresAtMs: 99 }),
    ...CHANGED,
    earlier: [{ owner: openRecord(id).owner, untilMs: expect.any(Number), ...how }],
  });

  describe(`${name}: takeover`, () => {
    test('gives the claim to one new owner only', async () => {
      await claimed();
      const takeover = (owner: string) =>
        store.takeOver({ stale: openRecord(id), owner: ownerToken(owner), leaseExpiresAtMs: 99 });
      const expected = taken();
      expect(await takeover('owner-b')).toEqual({ kind: 'taken' });
      expect(await store.readRecord(chargeOperation(id))).toEqual(expected);
      expect(await takeover('owner-c')).toEqual({ kind: 'changed', record: expected });
    });

    test('is refused after the claim was completed', async () => {
      await claimed();
      await completed();
      const outcome = await store.takeOver({ stale: openRecord(id), owner: OWNER_B, leaseExpiresAtMs: 99 });
      expect(outcome).toEqual({ kind: 'changed', record: completedRecord(id) });
    });

    test('removes the release mark of a released claim, so that the new owner may send', async () => {
      await claimed();
      await store.release(chargeOperation(id), openRecord(id).owner);
      const stale = openRecord(id, { released: true, leaseExpiresAtMs: 0 });
      expect(await store.readRecord(chargeOperation(id))).toEqual({ ...stale, ...CHANGED });
      expect(await store.takeOver({ stale, owner: OWNER_B, leaseExpiresAtMs: 99 })).toEqual({ kind: 'taken' });
      expect(await store.readRecord(chargeOperation(id))).toEqual(taken({ released: true }));
    });
  });

  describe(`${name}: commit`, () => {
    test('stores the response and the outcome atomically', async () => {
      await claimed();
      expect(await completed()).toEqual({ kind: 'committed' });
      expect(await store.readRecord(chargeOperation(id))).toEqual(completedRecord(id));
      const newest = outcomeTransition(pendingTransition(id), { kind: 'succeeded', chargeId: 'ch_1' });
      expect(await store.readPayment(id)).toEqual({ first: pendingTransition(id), newest });
    });

    test('is fenced after a takeover, and writes nothing', async () => {
      await claimed();
      await store.takeOver({ stale: openRecord(id), owner: OWNER_B, leaseExpiresAtMs: 99 });
      expect(await completed()).toEqual({
        kind: 'fenced',
        record: taken(),
      });
      expect(await store.listTransitions(id, { afterSequence: 0, limit: 10 })).toEqual([pendingTransition(id)]);
    });

    test('is fenced after a rival’s commit, and returns the stored response', async () => {
      await claimed();
      await store.takeOver({ stale: openRecord(id), owner: OWNER_B, leaseExpiresAtMs: 99 });
      const theirs = completedRecord(id, { owner: OWNER_B });
      expect(await store.commit({ record: theirs, expects: 'open' })).toEqual({ kind: 'committed' });
      expect(await completed()).toEqual({ kind: 'fenced', record: theirs });
    });

    test('restores a deleted record unless a rival has restored it', async () => {
      await claimed();
      await underTest.deleteRecord(id);
      expect(await completed()).toEqual({ kind: 'fenced', record: undefined });
      const transition = outcomeTransition(pendingTransition(id), { kind: 'succeeded', chargeId: 'ch_1' });
      const again = () => store.commit({ record: completedRecord(id), expects: 'absent', transition });
      expect(await again()).toEqual({ kind: 'committed' });
      expect(await store.readRecord(chargeOperation(id))).toEqual(completedRecord(id));
      const rival = completedRecord(id, { owner: OWNER_B });
      expect(await store.commit({ record: rival, expects: 'absent' })).toEqual({
        kind: 'fenced',
        record: completedRecord(id),
      });
    });

    test('leaves the claim open if the sequence number of its transition is occupied', async () => {
      await claimed();
      const pending = pendingTransition(id);
      const newest = outcomeTransition(pending, { kind: 'unknown' });
      // The claim of a different operation appends the outcome here, as a callback would.
      const callback = openRecord(paymentIdFor(`suite-callback-${process.pid}-${made}`));
      expect(await store.claim({ record: callback, pending: newest })).toEqual({ kind: 'claimed' });
      expect(await completed()).toEqual({ kind: 'transition_exists' });
      expect(await store.readRecord(chargeOperation(id))).toEqual(openRecord(id));
      expect(await store.commit({ record: completedRecord(id), expects: 'open' })).toEqual({ kind: 'committed' });
    });

    test('leaves a verifiable chain', async () => {
      await claimed();
      await completed();
      const transitions = await store.listTransitions(id, { afterSequence: 0, limit: 10 });
      expect(transitions).toHaveLength(2);
      expect(firstBrokenLink(systemDigest, transitions)).toBeUndefined();
    });
  });

  describe(`${name}: releases and reads`, () => {
    test('a release after a takeover changes nothing', async () => {
      await claimed();
      await store.takeOver({ stale: openRecord(id), owner: OWNER_B, leaseExpiresAtMs: 99 });
      await store.release(chargeOperation(id), openRecord(id).owner);
      expect(await store.readRecord(chargeOperation(id))).toEqual(taken());
    });

    test('a release after completion changes nothing', async () => {
      await claimed();
      await completed();
      await store.release(chargeOperation(id), openRecord(id).owner);
      expect(await store.readRecord(chargeOperation(id))).toEqual(completedRecord(id));
    });

    test('transitions are listed oldest first, in pages', async () => {
      await claimed();
      await completed();
      const all = await store.listTransitions(id, { afterSequence: 0, limit: 10 });
      expect(all.map(({ sequence, type }) => [sequence, type])).toEqual([
        [1, 'payment.created'],
        [2, 'payment.completed'],
      ]);
      expect(await store.listTransitions(id, { afterSequence: 0, limit: 1 })).toEqual(all.slice(0, 1));
      expect(await store.listTransitions(id, { afterSequence: 1, limit: 10 })).toEqual(all.slice(1));
    });

    test('an unknown payment is not found', async () => {
      expect(await store.readRecord(chargeOperation(id))).toBeUndefined();
      expect(await store.readPayment(id)).toBeUndefined();
      expect(await store.listTransitions(id, { afterSequence: 0, limit: 10 })).toEqual([]);
    });
  });
}
