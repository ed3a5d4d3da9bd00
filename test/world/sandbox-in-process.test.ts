import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ChargeOrder, Processor } from '../../lambdas/payments/use/processor.ts';
import { sandboxContract } from '../../lambdas/processors/sandbox/contract.ts';
import { freshChange, freshOrder } from '../orders/sandbox-orders.ts';
import { describeChanges } from '../processors/processor-changes-suite.ts';
import { describeProcessor } from '../processors/processor-suite.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { createSandboxInProcess, type SandboxInProcess, type TimedCall } from './sandbox-in-process.ts';

const LIMIT = { timeoutMs: 8_000 };
/** Time limit of a read that looks up only one change, in milliseconds. */
const SHORT = { timeoutMs: 2_000 };
const MINUTE_MS = 60_000;

const { abilities } = sandboxContract;
const WHOLE_ONLY = { ...abilities, partialCapture: false, partialRefund: false };
const NO_HOLDS = { ...abilities, partialCapture: false, holdValidityMs: 0 };
const NO_REFUNDS = { ...abilities, refund: false, partialRefund: false };
const ORDERED_MINOR = freshOrder().amountMinor;

type Adapt = (processor: SandboxInProcess) => Processor;

const chargeable = (adapt: Adapt) => async () => {
  const clock = new SimulatedClock();
  const processor = createSandboxInProcess({ clock });
  return {
    processor: adapt(processor),
    chargesOf: async (paymentId: string) =>
      processor.charges(paymentId).map(({ chargeId, status }) => ({ id: chargeId, status })),
    failNext: (count: number, source: string) => processor.inside.failNext(count, source),
    advance: (milliseconds: number) => clock.advance(milliseconds),
    [Symbol.asyncDispose]: async () => {},
  };
};

const failure = { code: 'unsupported', message: 'This processor does not support it.' };

function wholeOnly(processor: Processor): Processor {
  return {
    ...processor,
    abilities: WHOLE_ONLY,
    change: async (order, limit) =>
      'amountMinor' in order.change && order.change.amountMinor < ORDERED_MINOR
        ? { kind: 'refused', failure }
        : processor.change(order, limit),
  };
}

function withoutRefunds(processor: Processor): Processor {
  return {
    ...processor,
    abilities: NO_REFUNDS,
    change: async (order, limit) =>
      order.change.kind === 'refund' ? { kind: 'refused', failure } : processor.change(order, limit),
  };
}

function withoutHolds(processor: Processor): Processor {
  return {
    ...processor,
    abilities: NO_HOLDS,
    charge: async (order, limit) =>
      order.capture === 'manual' ? { kind: 'rejected', failure } : processor.charge(order, limit),
    change: async (order, limit) => {
      if (order.change.kind === 'capture') throw new Error('a capture');
      return processor.change(order, limit);
    },
  };
}

const changeable = (adapt: Adapt) => async () => {
  const processor = createSandboxInProcess({ clock: new SimulatedClock() });
  return {
    processor: adapt(processor),
    stateOf: async (chargeId: string) => {
      const charge = processor.inside.all.find((each) => each.chargeId === chargeId);
      if (charge === undefined) throw new Error('the charge does not exist');
      const { status, capturedMinor: captured, refunds } = charge;
      return { status, captured, refunds: refunds.map(({ amountMinor }) => amountMinor) };
    },
    failNextChange: (count: number, source: string) => processor.inside.failNextChange(count, source),
    [Symbol.asyncDispose]: async () => {},
  };
};

const unchanged: Adapt = (processor) => processor;
describeProcessor('sandbox in process', abilities, chargeable(unchanged));
describeProcessor('sandbox in process without holds', NO_HOLDS, chargeable(withoutHolds));
describeChanges('changes at the sandbox in process', abilities, changeable(unchanged));
describeChanges('changes at the sandbox in process without partial changes', WHOLE_ONLY, changeable(wholeOnly));
describeChanges('changes at the sandbox in process without refunds', NO_REFUNDS, changeable(withoutRefunds));
describeChanges('changes at the sandbox in process without holds', NO_HOLDS, changeable(withoutHolds));

describe('the in-process sandbox', () => {
  let clock: SimulatedClock;
  let processor: SandboxInProcess;
  beforeEach(() => {
    clock = new SimulatedClock();
    processor = createSandboxInProcess({ clock });
  });

  const charged = async (changes: Partial<ChargeOrder> = {}) => {
    const order = freshOrder(changes);
    const { chargeId = '' } = await processor.charge(order, LIMIT);
    return { order, chargeId, refund: freshChange(order, chargeId, { kind: 'refund', amountMinor: 100 }) };
  };
  const refundsOf = (paymentId: string) => processor.charges(paymentId).flatMap(({ refunds }) => refunds);
  const elapsedMs = async (act: () => Promise<unknown>) => {
    const beginMs = clock.nowMs();
    await act().catch(() => {});
    return clock.nowMs() - beginMs;
  };

  test('delays slow responses on the simulated clock, and times out requests that get no response', async () => {
    expect(await elapsedMs(() => charged({ source: 'tok_slow' }))).toBe(3_000);
    const silent = freshOrder({ source: 'tok_timeout_charged' });
    expect(await elapsedMs(() => processor.charge(silent, LIMIT))).toBe(LIMIT.timeoutMs);
    await processor.charge(silent, LIMIT);
    expect(processor.sends(silent.operationId)).toBe(2);
    expect(processor.charges(silent.paymentId)).toHaveLength(1);
  });

  test('applies a delayed charge exactly once when it is delivered', async () => {
    const order = freshOrder();
    processor.inside.delayNext(1);
    await expect(processor.charge(order, LIMIT)).rejects.toMatchObject({ code: 'processor_timeout' });
    expect(await processor.findCharge(order, LIMIT)).toEqual({ kind: 'absent' });
    await processor.inside.deliverDelayed();
    expect(await processor.findCharge(order, LIMIT)).toMatchObject({ kind: 'succeeded' });
    await processor.charge(order, LIMIT);
    await processor.inside.deliverDelayed();
    expect(processor.charges(order.paymentId)).toHaveLength(1);
  });

  test('applies a delayed refund exactly once, even if it is sent twice', async () => {
    const { order, refund } = await charged();
    processor.inside.delayNext(1);
    await expect(processor.change(refund, LIMIT)).rejects.toMatchObject({ code: 'processor_timeout' });
    expect(refundsOf(order.paymentId)).toEqual([]);
    await processor.change(refund, LIMIT);
    await processor.inside.deliverDelayed();
    expect(refundsOf(order.paymentId)).toHaveLength(1);
    expect(processor.sends(refund.operationId)).toBe(2);
    expect(processor.inside.applied).toEqual([
      { operationId: refund.operationId, paymentId: order.paymentId, kind: 'refund' },
    ]);
  });

  test('finds a charge and a refund in searches only after the lag of its books', async () => {
    processor = createSandboxInProcess({ clock, abilities: { lookup: { kind: 'eventual', maxLagMs: MINUTE_MS } } });
    const { order, chargeId, refund } = await charged();
    await processor.change(refund, LIMIT);
    clock.advance(MINUTE_MS - 1);
    expect(await processor.findCharge(order, LIMIT)).toEqual({ kind: 'absent' });
    expect(await processor.findChange(refund, SHORT)).toEqual({ kind: 'absent' });
    // The lag applies to searches, not to a read by the charge's id.
    expect((await processor.readCharge(chargeId, LIMIT))?.refunds).toHaveLength(1);
    clock.advance(1);
    expect(await processor.findCharge(order, LIMIT)).toMatchObject({ kind: 'succeeded' });
    expect(await processor.findChange(refund, SHORT)).toMatchObject({ kind: 'applied' });
  });

  test('receives no requests while it is down, because the client’s breaker is open', async () => {
    await processor.inside.goDown();
    const order = freshOrder();
    await expect(processor.ready()).rejects.toMatchObject({ code: 'processor_circuit_open', retryAfterSeconds: 10 });
    await expect(processor.charge(order, LIMIT)).rejects.toMatchObject({ code: 'processor_circuit_open' });
    clock.advance(MINUTE_MS);
    await expect(processor.ready()).rejects.toMatchObject({ code: 'processor_circuit_open' });
    expect(processor.sends(order.operationId)).toBe(0);
    await processor.inside.recover();
    expect(await processor.charge(order, LIMIT)).toMatchObject({ kind: 'succeeded' });
  });

  test('lets a test act as the payer, the bank or another user of the account, under the usual rules of the sandbox', async () => {
    const { inside } = processor;
    const { chargeId, order } = await charged({ source: 'tok_async', capture: 'manual' });
    await inside.decline(chargeId);
    await inside.approve(chargeId);
    await inside.capture(chargeId, 500);
    await expect(inside.void(chargeId)).rejects.toThrow('charge_not_voidable');
    const refund = await inside.refund(chargeId, 300);
    await inside.endRefund(refund, 'failed');
    const dispute = await inside.dispute(chargeId, 500);
    await expect(inside.refund(chargeId, 300)).rejects.toThrow('charge_disputed');
    await inside.closeDispute(dispute, 'lost');
    await inside.correct(chargeId, { fee: 59 });
    const other = await inside.charge({ paymentId: order.paymentId, amountMinor: 700 });
    expect(processor.charges(order.paymentId)).toMatchObject([
      {
        status: 'succeeded',
        capturedMinor: 500,
        feeMinor: 59,
        refunds: [{ amountMinor: 300, status: 'failed' }],
        disputes: [{ amountMinor: 500, status: 'lost' }],
      },
      other,
    ]);
    expect(await processor.readCharge(chargeId, LIMIT)).toEqual(processor.charges(order.paymentId)[0]);
    expect(inside.applied).toEqual([]);
  });

  test('finishes a pending refund by its operation id', async () => {
    const { order, refund } = await charged();
    await processor.inside.failNextChange(1, 'tok_async');
    expect(await processor.change(refund, LIMIT)).toMatchObject({ kind: 'applied', facts: [{ status: 'pending' }] });
    await processor.inside.endRefund(refund.operationId, 'succeeded');
    expect(refundsOf(order.paymentId)).toMatchObject([{ refundId: refund.operationId, status: 'succeeded' }]);
  });

  test('lists requests with an idempotency key, and the refundable amount that its books showed before each request', async () => {
    const { order, chargeId, refund } = await charged();
    await processor.inside.dispute(chargeId, 950);
    clock.advance(2 * MINUTE_MS);
    await processor.change(refund, LIMIT);
    await processor.charge(order, LIMIT);
    const { operationId, paymentId, amountMinor } = order;
    expect(processor.inside.sent).toMatchObject([
      { kind: 'charge', operationId, paymentId, amountMinor, isRepeated: false },
      { kind: 'refund', operationId: refund.operationId, paymentId, chargeId, amountMinor: 100, leftBeforeMinor: 1049 },
      { kind: 'charge', operationId, paymentId, isRepeated: true },
    ]);
  });

  test('marks a charge as seen when a reconciliation lists it, and clears the mark when the charge changes', async () => {
    const { order, chargeId } = await charged();
    const isCompared = (): boolean => processor.inside.isShown(chargeId, true, true);
    await processor.inside.refund(chargeId, 100);
    const url = `http://sandbox.example/charges?payment=${order.paymentId}`;
    const listedBy = (by: string): TimedCall => ({ method: 'GET', url, headers: {}, timeoutMs: 5_000, by });
    await processor.send(listedBy('payment-jobs'));
    expect(isCompared()).toBe(false);
    await processor.send(listedBy('upkeep-jobs'));
    expect([isCompared(), processor.inside.isShown(chargeId)]).toEqual([true, false]);
    await processor.inside.refund(chargeId, 100);
    expect(isCompared()).toBe(false);
  });

  test('reports a sandbox error when a refund in the dashboard hits an injected failure', async () => {
    const { chargeId } = await charged();
    await processor.inside.failNextChange(1, 'tok_malformed');
    await expect(processor.inside.refund(chargeId, 100)).rejects.toThrow(/^the sandbox answered .* with no JSON/);
  });

  test('reports its events and its own scheduled actions', async () => {
    const events: string[] = [];
    const later: { afterMs: number; what: () => Promise<void> }[] = [];
    processor = createSandboxInProcess({
      clock,
      onEvent: ({ type }) => void events.push(type),
      later: (afterMs, what) => void later.push({ afterMs, what }),
    });
    const { chargeId } = await charged({ source: 'tok_async' });
    expect(later).toMatchObject([{ afterMs: 2_000 }]);
    await later[0]?.what();
    await processor.inside.refund(chargeId, 300);
    expect(events).toEqual(['charge.pending', 'charge.succeeded', 'refund.created']);
  });
});
