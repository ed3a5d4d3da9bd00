import { beforeEach, describe, expect, test } from '@jest/globals';
import { createMemoryProcessor, type MemoryProcessor } from '../../lambdas/adapters/memory/memory-processor.ts';
import { MemoryStore } from '../../lambdas/adapters/memory/memory-store.ts';
import { ProcessReplayCache } from '../../lambdas/adapters/memory/replay-cache.ts';
import { idempotentRunner } from '../../lambdas/adapters/powertools/idempotent-runner.ts';
import { systemDigest } from '../../lambdas/adapters/system/platform.ts';
import { createPayment } from '../../lambdas/app/create-payment.ts';
import type { CreatePayment, CreatePaymentTools } from '../../lambdas/app/create-payment-types.ts';
import type { PaymentStore, Processor, ReplayCache } from '../../lambdas/app/ports.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/core/faults.ts';
import { chargeOperation, tenantId } from '../../lambdas/core/ids.ts';
import { decide } from '../../lambdas/core/payment.ts';
import type { ProcessorAbilities } from '../../lambdas/core/settlement.ts';
import { nextTransition } from '../../lambdas/core/transition.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { paymentIdFor, paymentRequest } from '../support/payment-fixtures.ts';
import { SimulatedClock, skewed } from '../support/simulated-clock.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;
const NO_LOOKUP: ProcessorAbilities = { lookup: { kind: 'none' }, keyRetentionMs: DAY };

let clock: SimulatedClock;
let store: MemoryStore;
let processor: MemoryProcessor;

beforeEach(() => {
  clock = new SimulatedClock();
  store = new MemoryStore();
  processor = createMemoryProcessor({ clock });
});

const noCache: ReplayCache = { get: () => undefined, put: () => undefined };
const entropy = countingEntropy();

function toolsWith(changes: Partial<CreatePaymentTools> = {}): CreatePaymentTools {
  const replays = noCache;
  return { store, processor, runner: idempotentRunner, replays, clock, entropy, digest: systemDigest, ...changes };
}

const pay = (request: CreatePayment, changes: Partial<CreatePaymentTools> = {}) =>
  createPayment(toolsWith(changes), request);

async function answered(request: CreatePayment, changes: Partial<CreatePaymentTools> = {}) {
  const outcome = await pay(request, changes);
  if (outcome.kind !== 'first' && outcome.kind !== 'replay') throw new Error(`not answered but ${outcome.kind}`);
  return {
    kind: outcome.kind,
    status: outcome.answer.status,
    body: JSON.parse(outcome.answer.body) as Record<string, unknown>,
  };
}

/** The claim is made, the processor is asked, and the process dies: before or after the charge took effect. */
async function claimedAndDied(request: CreatePayment, charged: boolean): Promise<void> {
  const dying: PaymentStore = {
    ...methodsOf(store),
    commit: () => new Promise(() => undefined),
    release: () => new Promise(() => undefined),
  };
  const silent: Processor = {
    ...processor,
    charge: async (order, limit) => {
      if (charged) await processor.charge(order, limit);
      throw new Error('the process is gone');
    },
  };
  await expect(pay(request, { store: dying, processor: silent })).rejects.toThrow('the process is gone');
}

function methodsOf(whole: MemoryStore): PaymentStore {
  return {
    claim: (claim) => whole.claim(claim),
    takeOver: (takeover) => whole.takeOver(takeover),
    commit: (commit) => whole.commit(commit),
    release: (operationId, owner) => whole.release(operationId, owner),
    readRecord: (operationId) => whole.readRecord(operationId),
    readPayment: (paymentId) => whole.readPayment(paymentId),
    listTransitions: (paymentId, page) => whole.listTransitions(paymentId, page),
  };
}

const typesOf = async (request: CreatePayment) =>
  (await store.listTransitions(request.paymentId, { afterSequence: 0, limit: 9 })).map(({ type }) => type);

describe('the processor answers', () => {
  test('yes: 201, one charge, one transition with its postings', async () => {
    const request = paymentRequest('yes', { reference: 'order-1', description: 'shirts', metadata: { order: '1' } });
    const { status, body } = await answered(request);
    expect(status).toBe(201);
    expect(body).toMatchObject({
      id: request.paymentId,
      object: 'payment',
      amount: 1000,
      amount_captured: 1000,
      amount_refunded: 0,
      currency: 'EUR',
      status: 'succeeded',
      source: 'tok_ok',
      capture: 'automatic',
      processor: { name: 'memory', charge_id: 'ch_1' },
      failure: null,
      reference: 'order-1',
      description: 'shirts',
      metadata: { order: '1' },
      livemode: false,
    });
    expect(await typesOf(request)).toEqual(['payment.created', 'payment.completed']);
  });

  test('authorized: 201, nothing captured yet', async () => {
    const { status, body } = await answered(paymentRequest('manual', { capture: 'manual' }));
    expect([status, body['status'], body['amount_captured']]).toEqual([201, 'requires_capture', 0]);
  });

  test('no: 402 is final and replayed', async () => {
    const request = paymentRequest('declined', { source: 'tok_declined' });
    const first = await answered(request);
    expect([first.status, first.body['code']]).toEqual([402, 'payment_failed']);
    expect(await answered(request)).toEqual({ ...first, kind: 'replay' });
    expect(processor.sends(request.paymentId)).toBe(1);
  });

  test('that it does not understand: final, as no money can have moved', async () => {
    const request = paymentRequest('rejected', { source: 'tok_nobody' });
    expect((await answered(request)).status).toBe(402);
    expect((await answered(request)).kind).toBe('replay');
  });

  test('with an error, then yes: asked again within the same request', async () => {
    const request = paymentRequest('flaky', { source: 'tok_flaky' });
    expect((await answered(request)).status).toBe(201);
    expect(processor.charges(request.paymentId)).toHaveLength(1);
  });

  test.each(['tok_timeout_charged', 'tok_timeout_not_charged', 'tok_malformed'])(
    'nothing (%s): found out',
    async (source) => {
      const request = paymentRequest(source, { source });
      expect((await answered(request)).status).toBe(201);
      expect(processor.charges(request.paymentId)).toHaveLength(1);
    },
  );

  test.each(['tok_rate_limited', 'tok_unauthorized'])(
    'not now (%s): released, and the key stays usable',
    async (source) => {
      const request = paymentRequest(source, { source });
      await expect(pay(request)).rejects.toBeInstanceOf(RetryableError);
      expect(await store.readRecord(chargeOperation(request.paymentId))).toMatchObject({
        released: true,
        leaseExpiresAtMs: 0,
      });
      if (source === 'tok_rate_limited') expect((await answered(request)).status).toBe(201);
      else await expect(pay(request)).rejects.toBeInstanceOf(RetryableError);
    },
  );

  test('nothing at all, twice: 202 is stored and replayed for ever, though the truth comes later', async () => {
    const request = paymentRequest('unknown');
    processor.failNext(9, 'tok_timeout_not_charged');
    const first = await answered(request);
    expect([first.status, first.body['status']]).toEqual([202, 'processing']);
    expect(await typesOf(request)).toEqual(['payment.created', 'payment.processing']);
    expect(await answered(request)).toEqual({ ...first, kind: 'replay' });
    expect(processor.sends(request.paymentId)).toBe(2);
  });

  test('no, after a send that nobody answered: the look-up must confirm it', async () => {
    const request = paymentRequest('refusal-after-ambiguity');
    let sends = 0;
    const moody: Processor = {
      ...processor,
      charge: async (order, limit) => {
        sends += 1;
        if (sends > 1) return { kind: 'declined', failure: { code: 'card_declined', message: 'no' } };
        // The charge happens, and its answer is lost.
        await processor.charge(order, limit);
        throw new AmbiguousError('processor_timeout', 'no answer');
      },
      findCharge: async () => {
        if (sends < 2) throw new AmbiguousError('processor_timeout', 'no answer');
        return { kind: 'succeeded', chargeId: 'ch_1' };
      },
    };
    expect((await answered(request, { processor: moody })).status).toBe(201);
  });

  test('no, after a send that nobody answered, and nothing can confirm it: unknown, not failed', async () => {
    let sends = 0;
    const moody: Processor = {
      ...processor,
      abilities: NO_LOOKUP,
      charge: async () => {
        sends += 1;
        if (sends > 1) return { kind: 'rejected', failure: { code: 'expired', message: 'no' } };
        throw new AmbiguousError('processor_timeout', 'no answer');
      },
    };
    expect((await answered(paymentRequest('unconfirmed'), { processor: moody })).status).toBe(202);
  });
});

describe('the circuit breaker is open', () => {
  test('nothing is claimed, and the key stays unused', async () => {
    const request = paymentRequest('open');
    processor.switchCircuit('open');
    await expect(pay(request)).rejects.toMatchObject({ code: 'processor_circuit_open' });
    expect(await store.readRecord(chargeOperation(request.paymentId))).toBeUndefined();
    processor.switchCircuit('closed');
    expect((await answered(request)).kind).toBe('first');
  });

  test('what was answered before is still answered', async () => {
    const request = paymentRequest('open-replay');
    const first = await answered(request);
    processor.switchCircuit('open');
    expect(await answered(request)).toEqual({ ...first, kind: 'replay' });
    const other = paymentRequest('open-replay', { fingerprint: { version: 1, sha256: systemDigest.sha256('other') } });
    expect(await pay(other)).toEqual({ kind: 'payload_mismatch' });
  });
});

describe('the same key', () => {
  test('with another body: refused, and the stored answer stays', async () => {
    const request = paymentRequest('mismatch');
    const first = await answered(request);
    const other = { ...request, amountMinor: 5, fingerprint: { version: 1, sha256: systemDigest.sha256('other') } };
    expect(await pay(other)).toEqual({ kind: 'payload_mismatch' });
    expect(await answered(request)).toEqual({ ...first, kind: 'replay' });
  });

  test('claimed by newer code with another fingerprint rule: left to the newer code', async () => {
    const request = paymentRequest('newer');
    await answered({ ...request, fingerprint: { version: 2, sha256: systemDigest.sha256('as version 2 says') } });
    await expect(pay(request)).rejects.toMatchObject({ code: 'fingerprint_version_unknown' });
  });

  test('while the first still runs: in progress, with another body: refused', async () => {
    const request = paymentRequest('running');
    await claimedAndDied(request, true);
    expect(await pay(request)).toMatchObject({ kind: 'in_progress' });
    const other = { ...request, fingerprint: { version: 1, sha256: systemDigest.sha256('other') } };
    expect(await pay(other)).toEqual({ kind: 'payload_mismatch' });
  });

  test('under another tenant is another payment', async () => {
    const mine = paymentRequest('shared');
    const theirs = paymentRequest('shared', {
      tenantId: tenantId('ten_b'),
      paymentId: paymentIdFor('shared', 'ten_b'),
    });
    expect([(await answered(mine)).kind, (await answered(theirs)).kind]).toEqual(['first', 'first']);
  });

  test('is answered warm without any call', async () => {
    const request = paymentRequest('warm');
    const replays = new ProcessReplayCache();
    await answered(request, { replays });
    const dead = new Proxy({} as PaymentStore, {
      get: () => () => {
        throw new Error('a warm replay calls nothing');
      },
    });
    const unready: Processor = { ...processor, ready: () => Promise.reject(new Error('a warm replay calls nothing')) };
    const outcome = await pay(request, { replays, store: dead, processor: unready });
    expect(outcome).toMatchObject({ kind: 'replay', source: 'cache' });
    const other = { ...request, fingerprint: { version: 1, sha256: systemDigest.sha256('other') } };
    expect(await pay(other, { replays, store: dead, processor: unready })).toEqual({ kind: 'payload_mismatch' });
  });

  test('past its retention: refused with what it made, warm and cold, and nobody is charged', async () => {
    const request = paymentRequest('old');
    const replays = new ProcessReplayCache();
    await answered(request, { replays });
    clock.advance(8 * DAY);
    const expired = { kind: 'key_expired', paymentId: request.paymentId };
    expect(await pay(request, { replays })).toEqual(expired);
    expect(await pay(request)).toEqual(expired);
    // Time to live has taken the record too: transition 1 still refuses.
    store.deleteRecord(chargeOperation(request.paymentId));
    expect(await pay(request)).toEqual(expired);
    expect(processor.charges(request.paymentId)).toHaveLength(1);
  });
});

describe('an owner that died', () => {
  test.each([true, false])('with the charge made (%s): after the lease, the next one finds out', async (charged) => {
    const request = paymentRequest(`died-${charged}`);
    await claimedAndDied(request, charged);
    clock.advance(26 * SECOND);
    expect((await answered(request)).status).toBe(201);
    expect(processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('with the charge made, at a processor that cannot look up: the same key is the question', async () => {
    processor = createMemoryProcessor({ clock, abilities: NO_LOOKUP });
    const request = paymentRequest('died-no-lookup');
    await claimedAndDied(request, true);
    clock.advance(MINUTE);
    expect((await answered(request)).status).toBe(201);
    expect(processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('and nobody came for sixteen minutes: only looked up, never sent', async () => {
    const request = paymentRequest('died-late');
    await claimedAndDied(request, false);
    clock.advance(16 * MINUTE);
    const { status, body } = await answered(request);
    expect([status, body['status']]).toEqual([202, 'processing']);
    expect(processor.charges(request.paymentId)).toEqual([]);
  });

  test('and nobody came for an hour: proven absent, not attempted', async () => {
    const request = paymentRequest('died-absent');
    await claimedAndDied(request, false);
    clock.advance(60 * MINUTE);
    const { status, body } = await answered(request);
    expect([status, body['code']]).toEqual([409, 'payment_not_attempted']);
    expect(await typesOf(request)).toEqual(['payment.created', 'payment.failed']);
  });

  test('and nobody came for an hour, but the charge is there: found', async () => {
    const request = paymentRequest('died-present');
    await claimedAndDied(request, true);
    clock.advance(60 * MINUTE);
    expect((await answered(request)).status).toBe(201);
  });

  test('and nobody can find out: a person decides', async () => {
    processor = createMemoryProcessor({ clock, abilities: NO_LOOKUP });
    const request = paymentRequest('died-undecidable');
    await claimedAndDied(request, true);
    clock.advance(16 * MINUTE);
    const { status, body } = await answered(request);
    expect([status, body['status']]).toEqual([202, 'needs_review']);
    expect(processor.sends(request.paymentId)).toBe(1);
  });

  test('with its record deleted: the payment itself is taken over', async () => {
    const request = paymentRequest('died-deleted');
    await claimedAndDied(request, true);
    store.deleteRecord(chargeOperation(request.paymentId));
    expect((await answered(request)).status).toBe(201);
    expect(processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('with its record deleted, and another body: refused', async () => {
    const request = paymentRequest('died-deleted-mismatch');
    await claimedAndDied(request, true);
    store.deleteRecord(chargeOperation(request.paymentId));
    const other = { ...request, fingerprint: { version: 1, sha256: systemDigest.sha256('other') } };
    expect(await pay(other)).toEqual({ kind: 'payload_mismatch' });
  });
});

describe('a released claim', () => {
  test('that nobody retried in time ends as not attempted, without asking anyone', async () => {
    const request = paymentRequest('released', { source: 'tok_unauthorized' });
    await expect(pay(request)).rejects.toBeInstanceOf(RetryableError);
    clock.advance(16 * MINUTE);
    const { status, body } = await answered(request);
    expect([status, body['code']]).toEqual([409, 'payment_not_attempted']);
    expect(processor.sends(request.paymentId)).toBe(1);
  });

  test('is not trusted when the owner failed in an unforeseen way', async () => {
    const request = paymentRequest('bug');
    const buggy: Processor = {
      ...processor,
      charge: async (order, limit) => {
        await processor.charge(order, limit);
        throw new TypeError('a bug in reading the answer');
      },
    };
    await expect(pay(request, { processor: buggy })).rejects.toThrow('a bug');
    expect(await store.readRecord(chargeOperation(request.paymentId))).toMatchObject({ released: false });
  });
});

describe('rivals', () => {
  /** A store that lets `act` happen right before the commit. */
  const beforeCommit = (act: () => Promise<void>): PaymentStore => {
    let acted = false;
    return {
      ...methodsOf(store),
      commit: async (commit) => {
        if (!acted) {
          acted = true;
          await act();
        }
        return store.commit(commit);
      },
    };
  };

  test('a callback that was first: the owner only stores the answer', async () => {
    const request = paymentRequest('callback-first');
    const callback = beforeCommit(async () => {
      const history = await store.readPayment(request.paymentId);
      if (history === undefined) throw new Error('the payment is there');
      const { newest } = history;
      const decision = decide({ kind: 'succeeded', chargeId: 'ch_1' }, newest.payment, newest.type);
      if (decision.kind !== 'append') throw new Error('the callback appends');
      const pending = nextTransition(systemDigest, newest, decision.draft, clock.nowMs());
      await store.claim({
        record: {
          status: 'INPROGRESS',
          operationId: chargeOperation(paymentIdFor('a-callback')),
          paymentId: request.paymentId,
          fingerprint: request.fingerprint,
          owner: entropy.ownerToken(),
          claimedAtMs: clock.nowMs(),
          leaseExpiresAtMs: 0,
          released: false,
        },
        pending,
      });
    });
    expect((await answered(request, { store: callback })).status).toBe(201);
    expect(await typesOf(request)).toEqual(['payment.created', 'payment.completed']);
  });

  test('a lease that ran out while its owner was slow: the winner’s answer is everybody’s', async () => {
    const request = paymentRequest('slow-owner');
    let winner: Awaited<ReturnType<typeof answered>> | undefined;
    const slow = beforeCommit(async () => {
      clock.advance(26 * SECOND);
      winner = await answered(request);
    });
    const loser = await answered(request, { store: slow });
    expect(winner?.kind).toBe('first');
    expect(loser).toEqual({ ...winner, kind: 'replay' });
    expect(processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('a record deleted while its owner ran: the answer is stored all the same', async () => {
    const request = paymentRequest('deleted-under-way');
    const deleting = beforeCommit(async () => store.deleteRecord(chargeOperation(request.paymentId)));
    const first = await answered(request, { store: deleting });
    expect(first.status).toBe(201);
    expect(await answered(request)).toEqual({ ...first, kind: 'replay' });
  });

  test.each([-5, 5])('a worker whose clock is off by %d minutes changes nothing but who waits', async (minutes) => {
    const request = paymentRequest(`skew-${minutes}`);
    const other = skewed(clock, minutes * MINUTE);
    const disturbed = beforeCommit(async () => {
      await pay(request, { clock: other }).catch(() => undefined);
    });
    const first = await answered(request, { store: disturbed });
    expect(first.status).toBe(201);
    expect(await answered(request, { clock: other })).toEqual({ ...first, kind: 'replay' });
    expect(processor.charges(request.paymentId)).toHaveLength(1);
  });
});

describe('a reference', () => {
  const withReference = (key: string, source = 'tok_ok') => paymentRequest(key, { reference: 'order-7', source });

  test('in use is refused, with the payment that has it', async () => {
    const first = withReference('ref-1');
    await answered(first);
    expect(await pay(withReference('ref-2'))).toEqual({ kind: 'reference_used', paymentId: first.paymentId });
  });

  test('of a payment still under way is in use', async () => {
    const first = withReference('ref-3');
    await claimedAndDied(first, true);
    expect(await pay(withReference('ref-4'))).toEqual({ kind: 'reference_used', paymentId: first.paymentId });
  });

  test('of a payment that failed is free again, for one', async () => {
    await answered(withReference('ref-5', 'tok_declined'));
    const second = withReference('ref-6');
    expect((await answered(second)).status).toBe(201);
    expect(await pay(withReference('ref-7'))).toEqual({ kind: 'reference_used', paymentId: second.paymentId });
  });
});
