import { beforeEach, describe, expect, test } from '@jest/globals';
import { freshChange, freshOrder } from '../orders/sandbox-orders.ts';
import { describeChanges } from '../processors/processor-changes-suite.ts';
import { describeProcessor } from '../processors/processor-suite.ts';
import { createMemoryProcessor, type MemoryProcessor } from './memory-processor.ts';

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

describeChanges('changes of a processor in memory', async () => {
  const processor = createMemoryProcessor({ clock: { nowMs: () => 1_767_225_600_000 } });
  return {
    processor,
    stateOf: async (chargeId) => {
      const charge = processor.inside.all.find((each) => each.chargeId === chargeId);
      if (charge === undefined) throw new Error('there is no such charge');
      const { status, capturedMinor: captured, refunds } = charge;
      return { status, captured, refunds: refunds.map(({ amountMinor }) => amountMinor) };
    },
    failNextChange: async (count, source) => processor.failNextChange(count, source),
    [Symbol.asyncDispose]: async () => {},
  };
});

describe('the processor in memory has behaviors that only a fake can have', () => {
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

  test('a delayed send that arrives after a second one charges nothing more', async () => {
    const order = freshOrder({ source: 'tok_timeout_late' });
    await expect(processor.charge(order, LIMIT)).rejects.toMatchObject({ code: 'processor_timeout' });
    await processor.charge(order, LIMIT);
    processor.deliverDelayed();
    expect(processor.charges(order.paymentId)).toHaveLength(1);
  });

  test('with an eventual look-up a charge is found once its lag has passed', async () => {
    processor = createMemoryProcessor({
      clock: { nowMs: () => nowMs },
      abilities: { ...processor.abilities, lookup: { kind: 'eventual', maxLagMs: 60_000 }, keyRetentionMs: 1_000_000 },
    });
    const order = freshOrder();
    await processor.charge(order, LIMIT);
    nowMs += 59_999;
    expect(await processor.findCharge(order, LIMIT)).toEqual({ kind: 'absent' });
    nowMs += 1;
    expect(await processor.findCharge(order, LIMIT)).toEqual({ kind: 'succeeded', chargeId: 'ch_1' });
  });

  test('with an open circuit it is not ready and nothing is sent', async () => {
    processor.switchCircuit('open');
    const order = freshOrder();
    await expect(processor.ready()).rejects.toMatchObject({ code: 'processor_circuit_open', retryAfterSeconds: 10 });
    await expect(processor.charge(order, LIMIT)).rejects.toMatchObject({ code: 'processor_circuit_open' });
    expect(processor.sends(order.operationId)).toBe(0);
  });

  const refundedCharge = async () => {
    const order = freshOrder();
    const { chargeId = '' } = await processor.charge(order, LIMIT);
    return freshChange(order, chargeId, { kind: 'refund', amountMinor: 100 });
  };
  const refundsOf = (chargeId: string) => processor.inside.all.find((charge) => charge.chargeId === chargeId)?.refunds;

  test('a delayed refund takes effect when it is delivered, and not again after a second send', async () => {
    const refund = await refundedCharge();
    processor.failNextChange(1, 'tok_timeout_late');
    await expect(processor.change(refund, LIMIT)).rejects.toMatchObject({ code: 'processor_timeout' });
    expect(refundsOf(refund.chargeId)).toEqual([]);
    processor.deliverDelayed();
    expect(refundsOf(refund.chargeId)).toHaveLength(1);
    await processor.change(refund, LIMIT);
    expect(refundsOf(refund.chargeId)).toHaveLength(1);
    expect(processor.sends(refund.operationId)).toBe(2);
  });

  test('a refund may stay pending, or be declined and leave nothing', async () => {
    const refund = await refundedCharge();
    processor.failNextChange(1, 'tok_declined');
    expect(await processor.change(refund, LIMIT)).toMatchObject({
      kind: 'refused',
      failure: { code: 'card_declined' },
    });
    expect(refundsOf(refund.chargeId)).toEqual([]);
    processor.failNextChange(1, 'tok_async');
    expect(await processor.change(refund, LIMIT)).toMatchObject({ kind: 'applied', facts: [{ status: 'pending' }] });
    processor.inside.setRefund(refund.operationId, 'failed');
    expect(await processor.findChange(refund, LIMIT)).toMatchObject({ facts: [{ status: 'failed' }] });
  });

  test('a forgotten refund key refunds twice, and the look-up decides nothing', async () => {
    const refund = await refundedCharge();
    await processor.change(refund, LIMIT);
    nowMs += processor.abilities.keyRetentionMs;
    await processor.change(refund, LIMIT);
    expect(refundsOf(refund.chargeId)).toHaveLength(2);
    await expect(processor.findChange(refund, LIMIT)).rejects.toMatchObject({ code: 'processor_answer_mismatch' });
  });

  test('with an eventual look-up a refund is found once its lag has passed', async () => {
    processor = createMemoryProcessor({
      clock: { nowMs: () => nowMs },
      abilities: { ...processor.abilities, lookup: { kind: 'eventual', maxLagMs: 60_000 } },
    });
    const refund = await refundedCharge();
    await processor.change(refund, LIMIT);
    nowMs += 59_999;
    expect(await processor.findChange(refund, LIMIT)).toEqual({ kind: 'absent' });
    nowMs += 1;
    expect(await processor.findChange(refund, LIMIT)).toMatchObject({ kind: 'applied' });
  });

  test('sends are counted, including unanswered ones', async () => {
    const order = freshOrder({ source: 'tok_timeout_charged' });
    await expect(processor.charge(order, LIMIT)).rejects.toMatchObject({ code: 'processor_timeout' });
    await processor.charge(order, LIMIT);
    expect(processor.sends(order.operationId)).toBe(2);
  });
});
