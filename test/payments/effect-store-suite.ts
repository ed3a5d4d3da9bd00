import { beforeEach, describe, expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { type OperationId, ownerToken, type PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { EffectRecord } from '../../lambdas/once/domain/idempotency.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import type { Effect, EffectStore, OrphanedCallback } from '../../lambdas/payments/use/effect-store.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { OrphanStore } from '../../lambdas/payments/use/unfinished-work.ts';
import { ALL_DUE } from '../support/due.ts';
import { openRecord, outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

export interface EffectStoreUnderTest {
  readonly payments: PaymentStore;
  readonly effects: EffectStore & OrphanStore;
}

const T0 = Date.UTC(2026, 2, 1, 12);
const PAGE = { afterSequence: 0, limit: 9 };

/** The tests run on in-memory DynamoDB, on the DynamoDB API and on PostgreSQL. */
export function describeEffectStore(name: string, make: () => Promise<EffectStoreUnderTest>): void {
  let made = 0;
  let effects: EffectStore & OrphanStore;
  let payments: PaymentStore;
  let id: PaymentId;
  let event: OperationId;

  beforeEach(async () => {
    ({ effects, payments } = await make());
    made += 1;
    id = paymentIdFor(`effects-${process.pid}-${made}`);
    event = callbackOperation(systemDigest, 'memory', `evt-${process.pid}-${made}`);
  });

  const record = (changes: Partial<EffectRecord> = {}): EffectRecord => ({
    operationId: event,
    paymentId: id,
    owner: ownerToken('owner-a'),
    recordedAtMs: T0,
    expiresAtSeconds: T0 / 1000 + 2_592_000,
    ...changes,
  });

  const completed = outcomeTransition;
  const claimed = async () => {
    const pending = pendingTransition(id);
    await payments.claim({ record: openRecord(id), pending });
    return pending;
  };
  const sequences = async () =>
    (await effects.listTransitions(id, PAGE)).map(({ sequence, type }) => `${sequence} ${type}`);

  describe(`the ${name} effect store`, () => {
    const orphan = (): OrphanedCallback => ({
      operationId: event,
      event: { processorName: 'memory', mode: 'test', eventId: 'evt_1', type: 'charge.succeeded', chargeId: 'ch_9' },
      reason: 'payment_unknown',
      receivedAtMs: T0,
    });

    test('records an effect and its transitions once and atomically', async () => {
      const pending = await claimed();
      const first = completed(pending, { kind: 'succeeded', chargeId: 'ch_1' });
      const second = completed(first, {
        kind: 'refund',
        createdAtMs: 1_772_366_400_000,
        refundId: 're_1',
        chargeId: 'ch_1',
        amountMinor: 300,
        status: 'succeeded',
      });
      const effect: Effect = { record: record(), transitions: [first, second] };
      expect(await effects.recordEffect(effect)).toEqual({ kind: 'recorded' });
      expect(await sequences()).toEqual(['1 payment.created', '2 payment.completed', '3 refund.completed']);
      expect(firstBrokenLink(systemDigest, await effects.listTransitions(id, PAGE))).toBeUndefined();
      expect(await effects.readEffect(event)).toEqual(record());
    });

    test('refuses a rival’s effect of the same operation, and returns the existing record', async () => {
      const pending = await claimed();
      const transitions = [completed(pending, { kind: 'succeeded', chargeId: 'ch_1' })];
      await effects.recordEffect({ record: record(), transitions });
      const rival = record({ owner: ownerToken('owner-b') });
      expect(await effects.recordEffect({ record: rival, transitions })).toEqual({
        kind: 'recorded_before',
        record: record(),
      });
      expect(await effects.recordEffect({ record: rival, transitions: [] })).toMatchObject({ kind: 'recorded_before' });
      expect(await sequences()).toHaveLength(2);
    });

    test('refuses an effect whose sequence number is taken, and writes nothing', async () => {
      const pending = await claimed();
      const taken = completed(pending, { kind: 'succeeded', chargeId: 'ch_1' });
      await effects.recordEffect({ record: record(), transitions: [taken] });
      const other = callbackOperation(systemDigest, 'memory', `${event}-other`);
      const late: Effect = {
        record: record({ operationId: other }),
        transitions: [completed(pending, { kind: 'declined', failure: { code: 'no', message: 'no' } })],
        orphan: { ...orphan(), operationId: other },
        toReturn: [{ paymentId: id, chargeId: 'ch_1', by: 'refund', foundAtMs: T0 }],
      };
      expect(await effects.recordEffect(late)).toEqual({ kind: 'transition_exists' });
      expect(await effects.readEffect(other)).toBeUndefined();
      expect(await effects.waiting('own', ALL_DUE)).not.toContainEqual(late.orphan);
    });

    test('records exactly one of many concurrent effects', async () => {
      const pending = await claimed();
      const transitions = [completed(pending, { kind: 'succeeded', chargeId: 'ch_1' })];
      const owners = Array.from({ length: 12 }, (_, index) => ownerToken(`owner-${index}`));
      const outcomes = await Promise.all(
        owners.map((owner) => effects.recordEffect({ record: record({ owner }), transitions })),
      );
      expect(outcomes.filter(({ kind }) => kind === 'recorded')).toHaveLength(1);
      expect(await sequences()).toHaveLength(2);
    });

    test('stores the fingerprint and the response of a client’s request with the effect', async () => {
      await claimed();
      const request = {
        fingerprint: { version: 1, sha256: systemDigest.sha256('a request') },
        answer: { status: 201, headers: { 'content-type': 'application/json' }, body: '{}' },
      };
      await effects.recordEffect({ record: record({ request }), transitions: [] });
      expect(await effects.readEffect(event)).toEqual(record({ request }));
    });

    test('stores an orphan with its record until a payment adopts it', async () => {
      const { paymentId: _none, ...nobodys } = record();
      await effects.recordEffect({ record: nobodys, transitions: [], orphan: orphan() });
      expect(await effects.waiting('own', ALL_DUE)).toContainEqual(orphan());
      const adoption = callbackOperation(systemDigest, 'memory', `${event}-adoption`);
      const adopted = { record: record({ operationId: adoption }), transitions: [], adopted: orphan() };
      expect(await effects.recordEffect(adopted)).toEqual({ kind: 'recorded' });
      expect(await effects.waiting('own', ALL_DUE)).not.toContainEqual(orphan());
    });

    test('abandons an orphan permanently', async () => {
      await effects.recordEffect({ record: record(), transitions: [], orphan: orphan() });
      await effects.giveUp(orphan());
      await effects.giveUp(orphan());
      await effects.postponeOrphan(orphan(), 0);
      const waiting = await effects.waiting('own', ALL_DUE);
      expect(waiting.map(({ operationId }) => operationId)).not.toContain(orphan().operationId);
    });

    test('dismisses an abandoned orphan once, but never a waiting orphan', async () => {
      await effects.recordEffect({ record: record(), transitions: [], orphan: orphan() });
      const dismissal = (key: string): Effect => ({
        record: record({ operationId: callbackOperation(systemDigest, 'memory', `${event}-${key}`) }),
        transitions: [],
        dismissed: orphan(),
      });
      expect(await effects.recordEffect(dismissal('early'))).toEqual({ kind: 'transition_exists' });
      expect(await effects.waiting('own', ALL_DUE)).toContainEqual(orphan());
      await effects.giveUp(orphan());
      const both = await Promise.all(['a', 'b'].map((key) => effects.recordEffect(dismissal(key))));
      expect(both.map(({ kind }) => kind).toSorted()).toEqual(['recorded', 'transition_exists']);
      expect(await effects.recordEffect(dismissal('late'))).toEqual({ kind: 'transition_exists' });
    });
  });
}
