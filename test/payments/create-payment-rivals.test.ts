/** Tests the guarantee "one owner". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { ownerToken, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { ChargeFact } from '../../lambdas/payments/domain/facts.ts';
import type { ProcessorAbilities } from '../../lambdas/payments/domain/settlement.ts';
import { nextTransition } from '../../lambdas/payments/domain/transition.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { Commit } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { requestedAt } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { skewed } from '../support/simulated-clock.ts';
import { World } from '../world/world.ts';
import { callback as callbackOf, paymentIdFor, paymentRequest } from './payment-fixtures.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const NO_LOOKUP: ProcessorAbilities = { lookup: { kind: 'none' }, keyRetentionMs: 24 * 60 * MINUTE };

let harness: World;
beforeEach(() => {
  harness = new World();
});

describe('a crashed owner', () => {
  test.each([true, false])(
    'is replaced after its lease by an owner that determines the outcome (charged: %s)',
    async (charged) => {
      const request = paymentRequest(`died-${charged}`);
      await harness.claimThenDie(request, charged);
      harness.clock.advance(26 * SECOND);
      expect((await harness.answered(request)).status).toBe(201);
      expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
    },
  );

  test('lets the next owner send again with the same key if the processor has no look-up', async () => {
    harness = new World({ abilities: NO_LOOKUP });
    const request = paymentRequest('died-no-lookup');
    await harness.claimThenDie(request, true);
    harness.clock.advance(MINUTE);
    expect((await harness.answered(request)).status).toBe(201);
    expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('is replaced without another send if its client retries after sixteen minutes', async () => {
    const request = paymentRequest('died-late');
    await harness.claimThenDie(request, false);
    harness.clock.advance(16 * MINUTE);
    const { status, body } = await harness.answered(request);
    expect([status, body['status']]).toEqual([202, 'processing']);
    expect(harness.processor.charges(request.paymentId)).toEqual([]);
  });

  test('lets a retry an hour later end the payment as not attempted if a look-up proves that it has no charge', async () => {
    const request = paymentRequest('died-absent');
    await harness.claimThenDie(request, false);
    harness.clock.advance(60 * MINUTE);
    const { status, body } = await harness.answered(request);
    expect([status, body['code']]).toEqual([409, 'payment_not_attempted']);
    expect(await harness.typesOf(request)).toEqual(['payment.created', 'payment.failed']);
  });

  test('lets a retry an hour later find its charge', async () => {
    const request = paymentRequest('died-present');
    await harness.claimThenDie(request, true);
    harness.clock.advance(60 * MINUTE);
    expect((await harness.answered(request)).status).toBe(201);
  });

  test('leaves the decision to an operator after the send window if the processor has no look-up', async () => {
    harness = new World({ abilities: NO_LOOKUP });
    const request = paymentRequest('died-undecidable');
    await harness.claimThenDie(request, true);
    harness.clock.advance(16 * MINUTE);
    const { status, body } = await harness.answered(request);
    expect([status, body['status']]).toEqual([202, 'needs_review']);
    expect(harness.processor.sends(request.paymentId)).toBe(1);
  });

  test('is replaced by the next owner even if its record was deleted', async () => {
    const request = paymentRequest('died-deleted');
    await harness.claimThenDie(request, true);
    harness.store.deleteRecord(chargeOperation(request.paymentId));
    expect((await harness.answered(request)).status).toBe(201);
    expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('is replaced without another send if its record is deleted and its client retries after sixteen minutes', async () => {
    const request = paymentRequest('died-deleted-late');
    await harness.claimThenDie(request, false);
    harness.store.deleteRecord(chargeOperation(request.paymentId));
    harness.clock.advance(16 * MINUTE);
    expect((await harness.answered(request)).status).toBe(202);
    expect(harness.processor.charges(request.paymentId)).toEqual([]);
  });

  test('lets a retry return the outcome that a callback has recorded, without a request to the processor', async () => {
    const request = paymentRequest('died-known');
    await harness.claimThenDie(request, false);
    const chain = await harness.chain(request);
    const decision = decide({ kind: 'succeeded', chargeId: 'ch_1' }, chain.state);
    if (decision.kind !== 'append') throw new Error('the callback changed nothing');
    const completed = nextTransition(systemDigest, chain, decision.draft, requestedAt(harness.clock.nowMs()));
    const record = { operationId: storedOperationId('evt_1'), owner: ownerToken('callback'), recordedAtMs: 0 };
    await harness.store.recordEffect({ record, transitions: [completed] });
    harness.clock.advance(26 * SECOND);
    const unasked = () => Promise.reject(new Error('the processor must not be called'));
    const processor = { ...harness.processor, charge: unasked, findCharge: unasked };
    expect((await harness.answered(request, { processor })).status).toBe(201);
  });

  test.each<[string, Partial<CreatePayment>]>([
    ['amount', { amountMinor: 5 }],
    ['currency', { currency: 'USD' }],
    ['source', { source: 'tok_other' }],
    ['capture', { capture: 'manual' }],
    ['reference', { reference: 'r-2' }],
    ['description', { description: 'Three shirts' }],
    ['metadata', { metadata: { order: '6736' } }],
    ['return_url', { returnUrl: 'https://shop.example/other' }],
  ])(
    'is replaced after the loss of its record only by the same request, not by one with a different %s',
    async (_field, changed) => {
      const notes = { description: 'Two shirts', metadata: { order: '6735' }, reference: 'r-1' };
      const request = paymentRequest('died-deleted-mismatch', notes);
      await harness.claimThenDie(request, true);
      harness.store.deleteRecord(chargeOperation(request.paymentId));
      expect(await harness.pay({ ...request, ...changed })).toEqual({ kind: 'payload_mismatch' });
      expect((await harness.answered(request)).status).toBe(201);
    },
  );
});

describe('the release of a claim', () => {
  test('lets a retry after the send window end the payment as not attempted, without a call to the processor', async () => {
    const request = paymentRequest('released', { source: 'tok_unauthorized' });
    await expect(harness.pay(request)).rejects.toBeInstanceOf(RetryableError);
    harness.clock.advance(16 * MINUTE);
    const { status, body } = await harness.answered(request);
    expect([status, body['code']]).toEqual([409, 'payment_not_attempted']);
    expect(harness.processor.sends(request.paymentId)).toBe(1);
  });

  test('does not happen if the owner failed unexpectedly, because the charge may have been sent', async () => {
    const request = paymentRequest('bug');
    const buggy: Processor = {
      ...harness.processor,
      charge: async (order, limit) => {
        await harness.processor.charge(order, limit);
        throw new TypeError('the response cannot be parsed');
      },
    };
    await expect(harness.pay(request, { processor: buggy })).rejects.toThrow('the response cannot be parsed');
    expect(await harness.store.readRecord(chargeOperation(request.paymentId))).toMatchObject({ released: false });
  });
});

describe('the owner of a claim with rivals', () => {
  test('appends no transition, and only stores the response, if a callback has recorded the outcome first', async () => {
    const request = paymentRequest('callback-first');
    const callback = harness.storeWithRival(async () => {
      const chain = await harness.chain(request);
      const decision = decide({ kind: 'succeeded', chargeId: 'ch_1' }, chain.state);
      if (decision.kind !== 'append') throw new Error('the callback changed nothing');
      const pending = nextTransition(systemDigest, chain, decision.draft, requestedAt(harness.clock.nowMs()));
      await harness.store.claim({
        record: {
          status: 'INPROGRESS',
          operationId: chargeOperation(paymentIdFor('a-callback')),
          paymentId: request.paymentId,
          fingerprint: request.fingerprint,
          owner: harness.entropy.ownerToken(),
          claimedAtMs: harness.clock.nowMs(),
          leaseExpiresAtMs: 0,
          released: false,
        },
        pending,
      });
    });
    expect((await harness.answered(request, { store: callback })).status).toBe(201);
    expect(await harness.typesOf(request)).toEqual(['payment.created', 'payment.completed']);
  });

  const outcomeOfCallback = (request: CreatePayment, fact: ChargeFact) =>
    harness.storeWithRival(async () => {
      const chain = await harness.chain(request);
      const decision = decide(fact, chain.state);
      if (decision.kind !== 'append') throw new Error('the callback changed nothing');
      const transition = nextTransition(systemDigest, chain, decision.draft, requestedAt(harness.clock.nowMs()));
      const record = { operationId: storedOperationId('evt_1'), owner: ownerToken('callback'), recordedAtMs: 0 };
      await harness.store.recordEffect({ record, transitions: [transition] });
    });

  test('returns the outcome that a callback has recorded instead of its own older outcome, and appends nothing', async () => {
    const request = paymentRequest('callback-newer', { source: 'tok_declined' });
    const store = outcomeOfCallback(request, { kind: 'succeeded', chargeId: 'ch_1' });
    expect((await harness.answered(request, { store })).status).toBe(201);
    expect(await harness.typesOf(request)).toEqual(['payment.created', 'payment.completed']);
  });

  test.each<[CreatePayment['capture'], string]>([
    ['automatic', 'payment.completed'],
    ['manual', 'payment.authorized'],
  ])(
    'records the money although an older callback required an action by the payer (%s capture)',
    async (capture, type) => {
      const request = paymentRequest(`callback-action-${capture}`, { capture });
      const actionUrl = 'https://bank.example/approve';
      const store = outcomeOfCallback(request, { kind: 'action_required', chargeId: 'ch_1', actionUrl });
      expect((await harness.answered(request, { store })).status).toBe(201);
      expect(await harness.typesOf(request)).toEqual(['payment.created', 'payment.requires_action', type]);
      expect(await harness.store.inquiries()).toEqual([]);
    },
  );

  test('does not record a refusal after a callback that required an action by the payer', async () => {
    const request = paymentRequest('callback-action-declined', { source: 'tok_declined' });
    const actionUrl = 'https://bank.example/approve';
    const store = outcomeOfCallback(request, { kind: 'action_required', chargeId: 'ch_1', actionUrl });
    expect((await harness.answered(request, { store })).status).toBe(202);
    expect((await harness.typesOf(request)).at(-1)).toBe('payment.requires_action');
    expect(await harness.store.inquiries()).toMatchObject([{ waitsFor: 'payer' }]);
  });

  test('queues its charge for a refund if a callback had already reported a refusal', async () => {
    const request = paymentRequest('callback-refused');
    const failure = { code: 'declined', message: 'No.' };
    const store = outcomeOfCallback(request, { kind: 'declined', chargeId: 'ch_1', failure });
    expect((await harness.answered(request, { store })).status).toBe(402);
    expect((await harness.typesOf(request)).at(-1)).toBe('payment.late_success');
    expect(await harness.store.chargesToReturn(ALL_DUE)).toMatchObject([{ chargeId: 'ch_1', by: 'refund' }]);
  });

  test('determines the outcome after a callback without an outcome', async () => {
    const request = paymentRequest('callback-pending');
    const store = outcomeOfCallback(request, { kind: 'pending', chargeId: 'ch_1' });
    expect((await harness.answered(request, { store })).status).toBe(201);
    expect((await harness.typesOf(request)).at(-1)).toBe('payment.completed');
  });

  test('returns the response of the new owner if its own lease has expired', async () => {
    const request = paymentRequest('slow-owner');
    let winner: Awaited<ReturnType<World['answered']>> | undefined;
    const slow = harness.storeWithRival(async () => {
      harness.clock.advance(26 * SECOND);
      winner = await harness.answered(request);
    });
    const loser = await harness.answered(request, { store: slow });
    expect(winner?.kind).toBe('first');
    expect(loser).toEqual({ ...winner, kind: 'replay' });
    expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('stores its response even after a deletion of its record', async () => {
    const request = paymentRequest('deleted-under-way');
    const deleting = harness.storeWithRival(async () => harness.store.deleteRecord(chargeOperation(request.paymentId)));
    const first = await harness.answered(request, { store: deleting });
    expect(first.status).toBe(201);
    expect(await harness.answered(request)).toEqual({ ...first, kind: 'replay' });
  });

  test.each(['tok_declined', 'tok_unknown'])(
    'stores no refusal after a deletion of its record, because a rival may have sent the charge (%s)',
    async (source) => {
      const request = paymentRequest('deleted-and-refused', { source });
      const deleting = harness.storeWithRival(async () =>
        harness.store.deleteRecord(chargeOperation(request.paymentId)),
      );
      await expect(harness.pay(request, { store: deleting })).rejects.toMatchObject({ code: 'contention' });
      expect(await harness.typesOf(request)).toEqual(['payment.created']);
      expect(await harness.store.readRecord(chargeOperation(request.paymentId))).toBeUndefined();
    },
  );

  test('does not store "nothing was sent" after a deletion of its record, because a rival may have sent the charge', async () => {
    const request = paymentRequest('deleted-and-absent');
    await harness.claimThenDie(request, false);
    harness.clock.advance(60 * MINUTE);
    const deleting = harness.storeWithRival(async () => harness.store.deleteRecord(chargeOperation(request.paymentId)));
    await expect(harness.pay(request, { store: deleting })).rejects.toMatchObject({ code: 'contention' });
    expect(await harness.typesOf(request)).toEqual(['payment.created']);
  });

  test.each([-5, 5])('gets the same result if a rival’s clock differs by %d minutes', async (minutes) => {
    const request = paymentRequest(`skew-${minutes}`);
    const other = skewed(harness.clock, minutes * MINUTE);
    const disturbed = harness.storeWithRival(async () => {
      await harness.pay(request, { clock: other }).catch(() => undefined);
    });
    const first = await harness.answered(request, { store: disturbed });
    expect(first.status).toBe(201);
    expect(await harness.answered(request, { clock: other })).toEqual({ ...first, kind: 'replay' });
    expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
  });
});

describe('the queue entries of a commit', () => {
  const committedBy = async (request: CreatePayment) => {
    const commits: Commit[] = [];
    const store = {
      ...harness.storeMethods(),
      commit: async (commit: Commit) => {
        commits.push(commit);
        return harness.store.commit(commit);
      },
    };
    const { status } = await harness.answered(request, { store });
    const [{ hold, inquiries = [] } = {} as Commit] = commits;
    return { status, hold: hold !== undefined, inquiries: inquiries.map(({ waitsFor = 'outcome' }) => waitsFor) };
  };

  test.each([
    ['tok_ok', 'automatic', { status: 201, hold: false, inquiries: [] }],
    ['tok_ok', 'manual', { status: 201, hold: true, inquiries: [] }],
    ['tok_async', 'automatic', { status: 202, hold: false, inquiries: ['outcome'] }],
    ['tok_action', 'automatic', { status: 202, hold: false, inquiries: ['payer'] }],
  ] as const)(
    'contain the remaining work of a payment with the source %s and %s capture',
    async (source, capture, expected) => {
      expect(await committedBy(paymentRequest(`${source}-${capture}`, { source, capture }))).toEqual(expected);
    },
  );
});

describe('a hold that is known only to the owner of the claim', () => {
  test('is voided if another charge of the same operation was recorded first', async () => {
    const request = paymentRequest('two-holds', { capture: 'manual' });
    const { inside } = harness.processor;
    const store = harness.storeWithRival(async () => {
      const { paymentId } = request;
      const { chargeId } = await inside.charge({ paymentId, operationId: paymentId, amountMinor: 1000 });
      await inside.correct(chargeId, { status: 'authorized', amount_captured: 0, capture: 'manual' });
      await harness.deliver(callbackOf('evt_1', chargeId));
    });
    expect((await harness.answered(request, { store })).status).toBe(201);
    await harness.resolveFor(20);
    expect(harness.processor.charges(request.paymentId).map(({ status }) => status)).toEqual(['voided', 'authorized']);
  });
});

describe('a charge that has no result yet and is known only to the owner of the claim', () => {
  const HOUR = 60 * MINUTE;
  /**
   * Lets a callback record another charge of the same operation before the owner commits.
   * @returns the id of the owner's charge, which never gets a callback
   */
  const withAnotherCharge = async (source: string) => {
    const request = paymentRequest(`other-${source}`, { source });
    const { inside } = harness.processor;
    const store = harness.storeWithRival(async () => {
      const { paymentId } = request;
      const { chargeId } = await inside.charge({ paymentId, operationId: paymentId, amountMinor: 1000 });
      await harness.deliver(callbackOf('evt_1', chargeId));
    });
    expect((await harness.answered(request, { store })).status).toBe(201);
    const [own] = harness.processor.charges(request.paymentId);
    return own?.chargeId ?? 'none';
  };
  const statesOf = (source: string) =>
    harness.processor.charges(paymentIdFor(`other-${source}`)).map(({ status, refunds }) => [status, refunds.length]);

  test.each(['tok_async', 'tok_action'])(
    'is looked up until it has a result, and a late success is refunded (%s)',
    async (source) => {
      const chargeId = await withAnotherCharge(source);
      harness.clock.advance(26 * HOUR);
      await harness.resolveFor(2);
      await harness.processor.inside.correct(chargeId, { status: 'succeeded', amount_captured: 1000 });
      harness.clock.advance(24 * HOUR);
      await harness.resolveFor(24 * 60, {}, 15);
      expect(statesOf(source)).toEqual([
        ['succeeded', 1],
        ['succeeded', 0],
      ]);
      expect(harness.store.queued('inquiry')).toBe(0);
    },
  );

  test('is no longer looked up after a refusal', async () => {
    const chargeId = await withAnotherCharge('tok_async');
    await harness.processor.inside.correct(chargeId, { status: 'declined' });
    await harness.resolveFor(60);
    expect(harness.store.queued('inquiry')).toBe(0);
  });
});

describe('the claim of the order to which a payment belongs', () => {
  test('starts the send window, so a payment that starts after the end of the window is not sent', async () => {
    const claimedAtMs = harness.clock.nowMs() - 16 * MINUTE;
    const request = { ...paymentRequest('order-late'), claimedAtMs };
    const { status, body } = await harness.answered(request);
    expect([status, body['code']]).toEqual([409, 'payment_not_attempted']);
    expect(harness.processor.sends(request.paymentId)).toBe(0);
  });
});

describe('a reference', () => {
  const withReference = (key: string, source = 'tok_ok') => paymentRequest(key, { reference: 'order-7', source });

  test('is not reported as used by another payment after a rival with the same key has claimed it', async () => {
    const request = withReference('ref-0');
    const first = await harness.answered(request);
    let claims = 0;
    const store = {
      ...harness.storeMethods(),
      claim: async (claim: Parameters<typeof harness.store.claim>[0]) => {
        claims += 1;
        // The rival's transaction still locks the record, but the rival's reference is readable.
        if (claims === 1) return { kind: 'reference_taken' as const, paymentId: request.paymentId };
        return harness.store.claim(claim);
      },
    };
    expect(await harness.answered(request, { store })).toEqual({ ...first, kind: 'replay' });
  });

  test('is refused if another payment uses it, and the response names that payment', async () => {
    const first = withReference('ref-1');
    await harness.answered(first);
    expect(await harness.pay(withReference('ref-2'))).toEqual({ kind: 'reference_used', paymentId: first.paymentId });
  });

  test('cannot be reused while its payment is in progress', async () => {
    const first = withReference('ref-3');
    await harness.claimThenDie(first, true);
    expect(await harness.pay(withReference('ref-4'))).toEqual({ kind: 'reference_used', paymentId: first.paymentId });
  });

  test('can be reused by one later payment after its payment has failed', async () => {
    await harness.answered(withReference('ref-5', 'tok_declined'));
    const second = withReference('ref-6');
    expect((await harness.answered(second)).status).toBe(201);
    expect(await harness.pay(withReference('ref-7'))).toEqual({ kind: 'reference_used', paymentId: second.paymentId });
  });
});
