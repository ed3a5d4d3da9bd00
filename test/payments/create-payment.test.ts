/** Tests the guarantee "permanent keys". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import type { ProcessorAbilities } from '../../lambdas/payments/domain/settlement.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { World } from '../world/world.ts';
import { paymentIdFor, paymentRequest } from './payment-fixtures.ts';

const DAY = 24 * 60 * 60_000;
const NO_LOOKUP: ProcessorAbilities = { lookup: { kind: 'none' }, keyRetentionMs: DAY };

let harness: World;
beforeEach(() => {
  harness = new World();
});

describe('the response to a payment request', () => {
  test('is 201 for a charge, with one charge at the processor and one transition with postings', async () => {
    const request = paymentRequest('yes', { reference: 'order-1', description: 'shirts', metadata: { order: '1' } });
    const { status, body } = await harness.answered(request);
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
      processor: { name: 'sandbox', charge_id: 'ch_1' },
      failure: null,
      reference: 'order-1',
      description: 'shirts',
      metadata: { order: '1' },
      livemode: false,
    });
    expect(await harness.typesOf(request)).toEqual(['payment.created', 'payment.completed']);
  });

  test('is 201 for an authorization, with nothing captured', async () => {
    const { status, body } = await harness.answered(paymentRequest('manual', { capture: 'manual' }));
    expect([status, body['status'], body['amount_captured']]).toEqual([201, 'requires_capture', 0]);
  });

  test('is a final 402 for a decline, and is replayed', async () => {
    const request = paymentRequest('declined', { source: 'tok_declined' });
    const first = await harness.answered(request);
    expect([first.status, first.body['code']]).toEqual([402, 'payment_failed']);
    expect(await harness.answered(request)).toEqual({ ...first, kind: 'replay' });
    expect(harness.processor.sends(request.paymentId)).toBe(1);
  });

  test('is final if the processor rejects the request as invalid, because no money can have moved', async () => {
    const request = paymentRequest('rejected', { source: 'tok_unknown' });
    expect((await harness.answered(request)).status).toBe(402);
    expect((await harness.answered(request)).kind).toBe('replay');
  });

  test('is 201 if the first send fails and a second send within the same request succeeds', async () => {
    const request = paymentRequest('flaky', { source: 'tok_flaky' });
    expect((await harness.answered(request)).status).toBe(201);
    expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
  });

  test.each(['tok_timeout_charged', 'tok_timeout_not_charged', 'tok_malformed'])(
    'is based on a look-up if the response of the processor is missing or malformed (%s)',
    async (source) => {
      const request = paymentRequest(source, { source });
      expect((await harness.answered(request)).status).toBe(201);
      expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
    },
  );

  test.each(['tok_rate_limited', 'tok_unauthorized'])(
    'is a retryable error if the processor temporarily refuses calls (%s), and the key stays usable',
    async (source) => {
      const request = paymentRequest(source, { source });
      await expect(harness.pay(request)).rejects.toBeInstanceOf(RetryableError);
      expect(await harness.store.readRecord(chargeOperation(request.paymentId))).toMatchObject({
        released: true,
        leaseExpiresAtMs: 0,
      });
      if (source === 'tok_rate_limited') expect((await harness.answered(request)).status).toBe(201);
      else await expect(harness.pay(request)).rejects.toBeInstanceOf(RetryableError);
    },
  );

  test('is 202 after two sends without a response, and is replayed', async () => {
    const request = paymentRequest('unknown');
    await harness.processor.inside.failNext(9, 'tok_timeout_not_charged');
    const first = await harness.answered(request);
    expect([first.status, first.body['status']]).toEqual([202, 'processing']);
    expect(await harness.typesOf(request)).toEqual(['payment.created', 'payment.processing']);
    expect(await harness.answered(request)).toEqual({ ...first, kind: 'replay' });
    expect(harness.processor.sends(request.paymentId)).toBe(2);
  });

  test.each([
    ['tok_ok', 201],
    ['tok_declined', 402],
  ])('is based on a look-up of the first send if the second send is declined: %s, %i', async (source, status) => {
    const request = paymentRequest('refusal-after-ambiguity', { source });
    let sends = 0;
    const moody: Processor = {
      ...harness.processor,
      charge: async (order, limit) => {
        sends += 1;
        if (sends > 1) return { kind: 'declined', failure: { code: 'card_declined', message: 'no' } };
        await harness.processor.charge(order, limit);
        throw new AmbiguousError('processor_timeout', 'no response');
      },
      findCharge: async (...lookUp) => {
        if (sends < 2) throw new AmbiguousError('processor_timeout', 'no response');
        return harness.processor.findCharge(...lookUp);
      },
    };
    expect((await harness.answered(request, { processor: moody })).status).toBe(status);
    expect(sends).toBe(2);
  });

  test('is 202 despite a rejection of the second send if the first send got no response and cannot be looked up', async () => {
    let sends = 0;
    const moody: Processor = {
      ...harness.processor,
      abilities: { ...harness.processor.abilities, ...NO_LOOKUP },
      charge: async () => {
        sends += 1;
        if (sends > 1) return { kind: 'rejected', failure: { code: 'expired', message: 'no' } };
        throw new AmbiguousError('processor_timeout', 'no response');
      },
    };
    expect((await harness.answered(paymentRequest('unconfirmed'), { processor: moody })).status).toBe(202);
  });
});

describe('an open circuit breaker', () => {
  test('prevents any claim and leaves the key unused', async () => {
    const request = paymentRequest('open');
    await harness.processor.inside.goDown();
    await expect(harness.pay(request)).rejects.toMatchObject({ code: 'processor_circuit_open' });
    expect(await harness.store.readRecord(chargeOperation(request.paymentId))).toBeUndefined();
    await harness.processor.inside.recover();
    expect((await harness.answered(request)).kind).toBe('first');
  });

  test('still allows replays of stored responses', async () => {
    const request = paymentRequest('open-replay');
    const first = await harness.answered(request);
    await harness.processor.inside.goDown();
    expect(await harness.answered(request)).toEqual({ ...first, kind: 'replay' });
    const other = paymentRequest('open-replay', { fingerprint: { version: 1, sha256: systemDigest.sha256('other') } });
    expect(await harness.pay(other)).toEqual({ kind: 'payload_mismatch' });
  });
});

describe('a reused idempotency key', () => {
  test('is refused with a different body, and the stored response stays unchanged', async () => {
    const request = paymentRequest('mismatch');
    const first = await harness.answered(request);
    const other = { ...request, amountMinor: 5, fingerprint: { version: 1, sha256: systemDigest.sha256('other') } };
    expect(await harness.pay(other)).toEqual({ kind: 'payload_mismatch' });
    expect(await harness.answered(request)).toEqual({ ...first, kind: 'replay' });
  });

  test('is refused if a newer release of Payonce claimed it with an unknown fingerprint version', async () => {
    const request = paymentRequest('newer');
    await harness.answered({
      ...request,
      fingerprint: { version: 2, sha256: systemDigest.sha256('as version 2 says') },
    });
    await expect(harness.pay(request)).rejects.toMatchObject({ code: 'fingerprint_version_unknown' });
  });

  test('is reported as in progress while the first request runs, and is refused with a different body', async () => {
    const request = paymentRequest('running');
    await harness.claimThenDie(request, true);
    expect(await harness.pay(request)).toMatchObject({ kind: 'in_progress' });
    const other = { ...request, fingerprint: { version: 1, sha256: systemDigest.sha256('other') } };
    expect(await harness.pay(other)).toEqual({ kind: 'payload_mismatch' });
  });

  test('creates a separate payment for another tenant', async () => {
    const mine = paymentRequest('shared');
    const theirs = paymentRequest('shared', {
      tenantId: tenantId('ten_b'),
      paymentId: paymentIdFor('shared', 'ten_b'),
    });
    expect([(await harness.answered(mine)).kind, (await harness.answered(theirs)).kind]).toEqual(['first', 'first']);
  });

  test('gets its stored response from memory, without any call', async () => {
    const request = paymentRequest('warm');
    const replays = new ProcessReplayCache();
    await harness.answered(request, { replays });
    const dead = new Proxy({} as PaymentStore, {
      get: () => () => {
        throw new Error('a warm replay called a dependency');
      },
    });
    const unready: Processor = {
      ...harness.processor,
      ready: () => Promise.reject(new Error('a warm replay called a dependency')),
    };
    const outcome = await harness.pay(request, { replays, store: dead, processor: unready });
    expect(outcome).toMatchObject({ kind: 'replay', source: 'cache' });
    const other = { ...request, fingerprint: { version: 1, sha256: systemDigest.sha256('other') } };
    expect(await harness.pay(other, { replays, store: dead, processor: unready })).toEqual({
      kind: 'payload_mismatch',
    });
  });

  test('is refused with the id of its payment after the retention period, in a warm and in a cold process', async () => {
    const request = paymentRequest('old');
    const replays = new ProcessReplayCache();
    await harness.answered(request, { replays });
    harness.clock.advance(8 * DAY);
    const expired = { kind: 'key_expired', paymentId: request.paymentId };
    expect(await harness.pay(request, { replays })).toEqual(expired);
    expect(await harness.pay(request)).toEqual(expired);
    // Transition 1 prevents a reuse of the key even after time to live has deleted the record.
    harness.store.deleteRecord(chargeOperation(request.paymentId));
    expect(await harness.pay(request)).toEqual(expired);
    expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
  });
});
