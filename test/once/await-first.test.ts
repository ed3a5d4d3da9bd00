import { beforeEach, describe, expect, test } from '@jest/globals';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { awaitFirst } from '../../lambdas/once/use/await-first.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import {
  type CreatePayment,
  type CreatePaymentOutcome,
  type CreatePaymentTools,
  createPayment,
} from '../../lambdas/payments/use/create-payment.ts';

import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';
import { Stores } from '../world/stores.ts';

const request = paymentRequest('k-wait');
const OPERATION = chargeOperation(request.paymentId);
const T0 = Date.UTC(2026, 2, 1, 12);

let clock: SimulatedClock;
let store: Stores;
let processor: SandboxInProcess;
/** Durations of the pauses that the waiting request makes, in milliseconds. */
let pauses: number[];
let whileWaiting: () => Promise<void>;

beforeEach(() => {
  clock = new SimulatedClock(T0);
  store = new Stores();
  processor = createSandboxInProcess({ clock });
  pauses = [];
  whileWaiting = async () => undefined;
});

const entropy = countingEntropy();
const watched: Clock = {
  nowMs: () => clock.nowMs(),
  sleep: async (ms) => {
    pauses.push(ms);
    clock.advance(ms);
    await whileWaiting();
  },
};

const toolsWith = (changes: Partial<CreatePaymentTools> = {}): CreatePaymentTools => ({
  store,
  processor,
  runner: idempotentRunner,
  replays: { find: async () => undefined, put: () => undefined, committed: async () => undefined },
  clock,
  entropy,
  digest: systemDigest,
  ...changes,
});

const waiting = (seconds: number, changes: Partial<CreatePaymentTools> = {}, asked: CreatePayment = request) => {
  const tools = toolsWith({ clock: watched, ...changes });
  return awaitFirst(tools, OPERATION, { waitMs: seconds * 1000, enter: async () => async () => undefined }, () =>
    createPayment(tools, asked),
  );
};

/** `finish` lets the processor respond. */
async function firstAtProcessor(): Promise<{ finish: () => Promise<CreatePaymentOutcome> }> {
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const held: Processor = {
    ...processor,
    charge: async (order, limit) => {
      asked.resolve();
      await answered.promise;
      return processor.charge(order, limit);
    },
  };
  const first = createPayment(toolsWith({ processor: held }), request);
  await asked.promise;
  return {
    finish: () => {
      answered.resolve();
      return first;
    },
  };
}

describe('a duplicate that prefers to wait', () => {
  test('receives the response to the first request as soon as the response exists', async () => {
    const first = await firstAtProcessor();
    let firstOutcome: CreatePaymentOutcome | undefined;
    whileWaiting = async () => {
      if (pauses.length === 3) firstOutcome = await first.finish();
    };

    const outcome = await waiting(8);

    expect(firstOutcome).toMatchObject({ kind: 'first', answer: { status: 201 } });
    expect(outcome).toEqual({ kind: 'replay', source: 'store', answer: (firstOutcome as { answer: unknown }).answer });
    expect(pauses).toHaveLength(3);
    expect(processor.sends(OPERATION)).toBe(1);
  });

  test('gets the response "in progress" exactly when its wait ends', async () => {
    const first = await firstAtProcessor();

    const outcome = await waiting(8);

    expect(outcome).toEqual({ kind: 'in_progress', leaseExpiresAtMs: T0 + 25_000 });
    expect(clock.nowMs()).toBe(T0 + 8_000);
    expect(pauses.length).toBeLessThanOrEqual(15);
    await first.finish();
  });

  test('takes over if the lease of the first request expires during the wait, and the payer is charged once', async () => {
    const first = await firstAtProcessor();
    clock.advance(20_000);

    const outcome = await waiting(8);

    expect(outcome).toMatchObject({ kind: 'first', answer: { status: 201 } });
    expect(clock.nowMs()).toBeGreaterThanOrEqual(T0 + 25_000);
    expect(await first.finish()).toMatchObject({ kind: 'replay', answer: (outcome as { answer: object }).answer });
    expect(processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('runs immediately when the first request releases its claim', async () => {
    const first = await firstAtProcessor();
    whileWaiting = async () => {
      await processor.inside.failNext(1, 'tok_unauthorized');
      await expect(first.finish()).rejects.toMatchObject({ code: 'processor_unauthorized' });
      whileWaiting = async () => undefined;
    };

    const outcome = await waiting(8);

    expect(outcome).toMatchObject({ kind: 'first', answer: { status: 201 } });
    expect(pauses).toHaveLength(1);
    expect(processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('is refused immediately if its body differs', async () => {
    const first = await firstAtProcessor();
    const other = { ...request, fingerprint: { version: 1, sha256: systemDigest.sha256('another body') } };

    expect(await waiting(8, {}, other)).toEqual({ kind: 'payload_mismatch' });
    expect(pauses).toEqual([]);
    await first.finish();
  });

  test('does not wait if its maximum wait is zero', async () => {
    const first = await firstAtProcessor();

    expect((await waiting(0)).kind).toBe('in_progress');
    expect(pauses).toEqual([]);
    await first.finish();
  });

  test('stops waiting even if the clock does not advance', async () => {
    const first = await firstAtProcessor();
    let slept = 0;
    const still: Clock = {
      nowMs: () => T0,
      sleep: async () => {
        slept += 1;
      },
    };

    expect((await waiting(8, { clock: still })).kind).toBe('in_progress');
    expect(slept).toBeLessThan(100);
    await first.finish();
  });

  test('receives a response within 20 seconds even if its wait ends with a takeover', async () => {
    const first = await firstAtProcessor();
    clock.advance(17_500);
    const asked = clock.nowMs();
    const silent: Processor = {
      ...processor,
      charge: (_order, limit) =>
        processor.charge({ ...request, operationId: OPERATION, source: 'tok_timeout_not_charged' }, limit),
    };

    const outcome = await waiting(8, { processor: silent }, { ...request, receivedAtMs: asked });

    expect(outcome.kind).toBe('first');
    expect(clock.nowMs() - asked).toBeLessThanOrEqual(20_000);
    await first.finish();
  });
});
