import { beforeEach, describe, expect, test } from '@jest/globals';
import { createMemoryProcessor, type MemoryProcessor } from '../../lambdas/adapters/memory/memory-processor.ts';
import { describeProcessor } from '../contract-suites/processor-suite.ts';
import { freshOrder } from '../support/sandbox-orders.ts';

const LIMIT = { timeoutMs: 1_000 };

describeProcessor('processor in memory', async () => {
  let nowMs = 1_767_225_600_000;
  const processor = createMemoryProcessor({ clock: { nowMs: () => nowMs } });
  return {
    processor,
    chargesOf: async (paymentId) =>
      processor.charges(paymentId).map(({ chargeId, status }) => ({ id: chargeId, status })),
    failNext: async (count, source) => processor.failNext(count, source),
    advance: (milliseconds) => {
      nowMs += milliseconds;
    },
    [Symbol.asyncDispose]: async () => {},
  };
});

describe('the processor in memory shows what only a fake can', () => {
  let nowMs: number;
  let processor: MemoryProcessor;
  beforeEach(() => {
    nowMs = 1_767_225_600_000;
    processor = createMemoryProcessor({ clock: { nowMs: () => nowMs } });
  });

  test('a delayed send takes effect when it is delivered', async () => {
    const order = freshOrder({ source: 'tok_timeout_late' });
    await expect(processor.charge(order, LIMIT)).rejects.toMatchObject({ code: 'processor_timeout' });
    expect(await processor.findCharge(order, LIMIT)).toEqual({ kind: 'absent' });
    processor.deliverDelayed();
    expect(await processor.findCharge(order, LIMIT)).toEqual({ kind: 'succeeded', chargeId: 'ch_1' });
  });

  test('a delayed send that comes after a second one charges nothing more', async () => {
    const order = freshOrder({ source: 'tok_timeout_late' });
    await expect(processor.charge(order, LIMIT)).rejects.toMatchObject({ code: 'processor_timeout' });
    await processor.charge(order, LIMIT);
    processor.deliverDelayed();
    expect(processor.charges(order.paymentId)).toHaveLength(1);
  });

  test('with an eventual look-up a charge is found once its lag has passed', async () => {
    processor = createMemoryProcessor({
      clock: { nowMs: () => nowMs },
      abilities: { lookup: { kind: 'eventual', maxLagMs: 60_000 }, keyRetentionMs: 1_000_000 },
    });
    const order = freshOrder();
    await processor.charge(order, LIMIT);
    nowMs += 59_999;
    expect(await processor.findCharge(order, LIMIT)).toEqual({ kind: 'absent' });
    nowMs += 1;
    expect(await processor.findCharge(order, LIMIT)).toEqual({ kind: 'succeeded', chargeId: 'ch_1' });
  });

  test('with its circuit open it is not ready and nothing is sent', async () => {
    processor.switchCircuit('open');
    const order = freshOrder();
    await expect(processor.ready()).rejects.toMatchObject({ code: 'processor_circuit_open', retryAfterSeconds: 10 });
    await expect(processor.charge(order, LIMIT)).rejects.toMatchObject({ code: 'processor_circuit_open' });
    expect(processor.sends(order.operationId)).toBe(0);
  });

  test('sends are counted, the unanswered ones too', async () => {
    const order = freshOrder({ source: 'tok_timeout_charged' });
    await expect(processor.charge(order, LIMIT)).rejects.toMatchObject({ code: 'processor_timeout' });
    await processor.charge(order, LIMIT);
    expect(processor.sends(order.operationId)).toBe(2);
  });
});
