import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { type AskedDecision, decidePayment } from '../../lambdas/operators/use/decide-payment.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { whole } from '../support/slice.ts';
import { World } from '../world/world.ts';

const MINUTE_MS = 60_000;
/** Minutes between two runs of the jobs during a day without events. When deployed, they run once a minute. */
const QUIET_MINUTES = whole(1, { slice: 30 });
const ANOTHER = ['the metadata of the charge names another payment'];

let world: World;
let alarms: (readonly string[])[];
let mine: CreatePayment;
let other: CreatePayment;

beforeEach(async () => {
  world = new World();
  alarms = [];
  mine = paymentRequest('mine');
  other = paymentRequest('other');
  await world.pay(other);
});

const tools = () => ({ ...world.tools, alarm: (...alarm: string[]) => void alarms.push(alarm) });

async function live(minutes: number, every = 1): Promise<void> {
  for (let minute = 0; minute < minutes; minute += every) {
    await resolveInquiries(tools());
    await returnCharges(tools());
    world.clock.advance(every * MINUTE_MS);
  }
}

async function edit(charge: string, metadata: Readonly<Record<string, string>>): Promise<void> {
  await world.processor.inside.correct(charge, { metadata });
}

const deliver = (event: string, charge: string) =>
  world.deliver(callback(event, charge), { alarm: (...alarm: string[]) => void alarms.push(alarm) });
const typesOf = async (request: CreatePayment) => (await world.chain(request)).transitions.map(({ type }) => type);
const paymentOf = async (request: CreatePayment) => (await world.chain(request)).state.payment;

/** The captured amount differs from the requested amount. @returns the charge id */
async function inReview(): Promise<string> {
  mine = paymentRequest('mine', { source: 'tok_async' });
  await world.pay(mine);
  const charge = world.chargeOf(mine);
  await world.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 999 });
  await deliver('evt_review', charge);
  return charge;
}

/** The books cannot be read at the time of the decision. */
function decideSucceeded(asked: Partial<Omit<AskedDecision, 'kind'>>) {
  const readCharge = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));
  const books = [{ ...world.processor, readCharge }];
  return decidePayment(
    { ...world.tools, books },
    {
      cause: BY_OPERATOR,
      operationId: storedOperationId('dec_a'),
      fingerprint: fingerprintOf(world.tools.digest, { body: { ...asked }, query: {} }),
      payment: mine.paymentId,
      reason: 'Seen on the statement',
      by: OPERATOR,
      asked: { kind: 'decision', outcome: 'succeeded', takenMinor: 1000, override: true, ...asked },
    },
  );
}

describe('another payment’s charge, after an operator assigned it to this payment,', () => {
  beforeEach(async () => {
    await inReview();
    await decideSucceeded({ chargeId: world.chargeOf(other) });
  });

  test('does not become a charge of this payment: its look-up reports a contradiction and posts nothing', async () => {
    await world.processor.inside.refund(world.chargeOf(other), 300);
    await live(3);
    expect(alarms).toContainEqual(['contradiction', mine.paymentId]);
    const { refunds } = (await world.chain(mine)).state;
    expect([...refunds.values()].filter(({ chargeId }) => chargeId === world.chargeOf(other))).toEqual([]);
  });

  test('is not refunded by a refund of this payment', async () => {
    const { paymentId } = mine;
    await world.change(change(mine, 'r', { kind: 'refund', amountMinor: 400 }));
    await live(60, whole(1, { slice: 5 }));
    expect(world.refundedAtProcessor(other)).toBe(0);
    expect(await paymentOf(mine)).toMatchObject({ id: paymentId, amountRefundedMinor: 0 });
  });
});

describe('a charge that names this payment and another payment’s operation', () => {
  beforeEach(async () => {
    await world.pay(mine);
  });

  test('is reported as a contradiction; it is not recorded as a stray charge and not refunded', async () => {
    const charge = world.chargeOf(other);
    await edit(charge, { payment: mine.paymentId, operation: other.paymentId });
    const before = await typesOf(mine);
    expect(await deliver('evt_edit', charge)).toMatchObject({ transitions: [], contradictions: ANOTHER });
    await live(10);
    expect(await typesOf(mine)).toEqual(before);
    expect(alarms).toEqual([['contradiction', mine.paymentId]]);
    expect(world.refundedAtProcessor(mine)).toBe(0);
  });

  test.each(['captured', 'authorized'])(
    'is not refunded after it was recorded as a stray charge (%s)',
    async (status) => {
      const isHold = status === 'authorized';
      const { chargeId } = await world.processor.inside.charge({
        operationId: storedOperationId('by-hand'),
        paymentId: mine.paymentId,
        amountMinor: 1000,
      });
      if (isHold) await world.processor.inside.correct(chargeId, { status: 'authorized', amount_captured: 0 });
      await deliver('evt_stray', chargeId);
      await edit(chargeId, { payment: mine.paymentId, operation: other.paymentId });
      await live(10);
      expect(alarms).toContainEqual(['undecidable', mine.paymentId]);
      const found = world.processor.charges(mine.paymentId).find((each) => each.chargeId === chargeId);
      expect(found).toMatchObject({ status: isHold ? 'authorized' : 'succeeded', refunds: [] });
    },
  );
});

describe('the payment’s own charge, identified only by the operation id in its metadata', () => {
  beforeEach(async () => {
    await world.pay(mine);
    await edit(world.chargeOf(mine), { operation: mine.paymentId });
  });

  test('is recorded by a callback, and not treated as another program’s charge', async () => {
    world.clock.advance(30 * 24 * 60 * MINUTE_MS);
    await world.processor.inside.refund(world.chargeOf(mine), 1000);
    expect(await deliver('evt_refund', world.chargeOf(mine))).toMatchObject({ transitions: ['refund.completed'] });
    expect(await paymentOf(mine)).toMatchObject({ amountRefundedMinor: 1000 });
    expect(alarms).toEqual([]);
  });
});

describe('a refund of a charge whose metadata was removed', () => {
  const refunded = async (charge: string) => {
    await edit(charge, {});
    world.clock.advance(30 * 24 * 60 * MINUTE_MS);
    await world.processor.inside.refund(charge, 1000);
    return world.deliver({ ...callback('evt_refund', charge), paymentId: mine.paymentId });
  };

  test('is recorded by a callback that names the payment', async () => {
    await world.pay(mine);
    expect(await refunded(world.chargeOf(mine))).toMatchObject({ transitions: ['refund.completed'] });
    expect(await paymentOf(mine)).toMatchObject({ amountRefundedMinor: 1000 });
  });

  test('is recorded by a callback that names the payment, even if the charge is a stray charge', async () => {
    await world.pay(mine);
    const { paymentId } = mine;
    const { chargeId } = await world.processor.inside.charge({ paymentId, operationId: 'by-hand', amountMinor: 1000 });
    await deliver('evt_stray', chargeId);
    expect(await refunded(chargeId)).toMatchObject({ transitions: ['refund.completed'] });
  });

  test('is not recorded if the charge belongs to a different payment than the callback names', async () => {
    await world.pay(mine);
    expect(await refunded(world.chargeOf(other))).toEqual({
      kind: 'orphaned',
      reason: 'payment_unknown',
      namesPayment: true,
    });
  });
});

describe('the payment’s own charge with a changed operation in its metadata', () => {
  const RENAMED = { operation: 'renamed-by-hand' };

  test.each([
    ['if it is a voided hold', { capture: 'manual' }, { status: 'voided', void_reason: 'expired' }, 'canceled'],
    ['if it was pending and is declined', { source: 'tok_async' }, { status: 'declined' }, 'failed'],
    ['if the payer refused it', { source: 'tok_action' }, { status: 'declined' }, 'failed'],
  ] as const)('ends the payment %s', async (_what, asked, changes, status) => {
    mine = paymentRequest('mine', asked);
    await world.pay(mine);
    const charge = world.chargeOf(mine);
    await world.processor.inside.correct(charge, { ...changes, metadata: { payment: mine.paymentId, ...RENAMED } });
    expect(await deliver('evt_end', charge)).toMatchObject({ contradictions: [] });
    expect(await paymentOf(mine)).toMatchObject({ status });
  });

  test('has its fee posted', async () => {
    await world.pay(mine);
    const charge = world.chargeOf(mine);
    await world.processor.inside.correct(charge, { fee: 30, metadata: { payment: mine.paymentId, ...RENAMED } });
    await deliver('evt_fee', charge);
    expect(await paymentOf(mine)).toMatchObject({ status: 'succeeded', feeMinor: 30 });
  });

  test('is a contradiction if its metadata names the operation of another payment', async () => {
    mine = paymentRequest('mine', { capture: 'manual' });
    await world.pay(mine);
    const charge = world.chargeOf(mine);
    const metadata = { payment: mine.paymentId, operation: other.paymentId };
    await world.processor.inside.correct(charge, { status: 'voided', metadata });
    expect(await deliver('evt_end', charge)).toMatchObject({ transitions: [], contradictions: ANOTHER });
    expect(await paymentOf(mine)).toMatchObject({ status: 'requires_capture' });
  });
});

describe('a pending refund of a stray charge, made by another user of the account with an id that looks like a Payonce id,', () => {
  test('is looked up, and Payonce itself refunds the money if that refund fails without a callback', async () => {
    const { inside } = world.processor;
    await world.pay(mine);
    const { paymentId } = mine;
    const { chargeId } = await inside.charge({ paymentId, operationId: 'by-hand', amountMinor: 1000 });
    await deliver('evt_stray', chargeId);
    await inside.dispute(chargeId, 400);
    await deliver('evt_disputed', chargeId);
    await live(5);
    const { disputes, refunds } = await inside.read(chargeId);
    const foreign = { id: 'rtn_abc', object: 'refund', charge: chargeId, amount: 400, metadata: {} } as const;
    await inside.correct(chargeId, {
      disputes: disputes.map((dispute) => ({ ...dispute, status: 'won' as const })),
      refunds: [...refunds, { ...foreign, status: 'pending' }],
      amount_refunded: 1000,
    });
    await deliver('evt_won', chargeId);
    await live(5);
    await inside.correct(chargeId, { refunds: [...refunds, { ...foreign, status: 'failed' }], amount_refunded: 600 });
    await live(26 * 60, QUIET_MINUTES);
    const stray = world.processor.charges(paymentId).find((each) => each.chargeId === chargeId);
    const returned = stray?.refunds.filter(({ status }) => status === 'succeeded') ?? [];
    expect(returned.map(({ amountMinor }) => amountMinor)).toEqual([600, 400]);
  });
});
