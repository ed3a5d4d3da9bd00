import { beforeEach, describe, expect, test } from '@jest/globals';
import { type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { paymentOfPart } from '../../lambdas/payments/ids.ts';
import { Api, as, dataOf, OTHER_KEY } from '../world/api.ts';

let harness: Api;
let ledger: Api;
let id: PaymentId;
let chargeId: string;

beforeEach(async () => {
  harness = new Api();
  ledger = new Api({}, harness.world);
  id = await ledger.paid('pay');
  const [charge] = harness.processor.charges(id);
  invariant(charge !== undefined, 'the payment has no charge');
  ({ chargeId } = charge);
});

const shown = async () => (await harness.get(`/v1/payments/${id}`)).body;
const partsOf = async (what: string) => dataOf(await harness.get(`/v1/payments/${id}/${what}`));
const nowSeconds = () => harness.clock.nowMs() / 1000;

describe('a refund', () => {
  test('made at the processor can be read by its id, with the time at which Payonce recorded it', async () => {
    await harness.processor.inside.refund(chargeId, 200);
    await ledger.world.learn(id);
    const recorded = nowSeconds();
    harness.clock.advance(5000);
    const [refund] = await partsOf('refunds');
    expect(refund).toMatchObject({ amount: 200, created: recorded, charge_id: chargeId });
    expect((await harness.get(`/v1/refunds/${String(refund?.['id'])}`)).body).toEqual(refund);
  });

  test('keeps its recorded time if it fails later', async () => {
    const refundId = await harness.processor.inside.refund(chargeId, 200);
    await ledger.world.learn(id);
    const recorded = nowSeconds();
    harness.clock.advance(5000);
    await harness.processor.inside.endRefund(refundId, 'failed');
    await ledger.world.learn(id);
    expect(await partsOf('refunds')).toMatchObject([{ status: 'failed', created: recorded }]);
  });

  test('can also be read if it refunds a stray charge, and has the currency of that charge', async () => {
    const operationId = `rtn_${id.slice('pay_'.length)}${'a'.repeat(26)}`;
    const stray = { chargeId: 'ch_9', amountMinor: 700, currency: 'USD' };
    await ledger.world.record(id, { kind: 'foreign_charge', status: 'captured', ...stray });
    await ledger.world.record(id, {
      kind: 'refund',
      refundId: operationId,
      chargeId: 'ch_9',
      amountMinor: 700,
      status: 'succeeded',
      createdAtMs: harness.clock.nowMs(),
    });
    expect((await harness.get(`/v1/refunds/${operationId}`)).body).toMatchObject({
      id: operationId,
      payment: id,
      charge_id: 'ch_9',
      currency: 'USD',
      created: nowSeconds(),
    });
    expect(await partsOf('refunds')).toHaveLength(1);
    expect(await shown()).toMatchObject({ amount_refunded: 0 });
  });
});

describe('a dispute', () => {
  test('is shown on its payment while open and after a loss, and can be read by its id', async () => {
    expect(await shown()).toMatchObject({ amount_disputed: 0 });
    expect(await shown()).not.toHaveProperty('disputes');
    const disputeId = await harness.processor.inside.dispute(chargeId, 600);
    await ledger.world.learn(id);
    const opened = nowSeconds();
    const [dispute] = await partsOf('disputes');
    expect(dispute).toMatchObject({ object: 'dispute', amount: 600, status: 'open', created: opened, payment: id });
    expect(await shown()).toMatchObject({ amount_disputed: 600, disputes: [dispute] });

    harness.clock.advance(5000);
    await harness.processor.inside.closeDispute(disputeId, 'lost');
    await ledger.world.learn(id);
    const lost = { ...dispute, status: 'lost' };
    expect((await harness.get(`/v1/disputes/${String(dispute?.['id'])}`)).body).toEqual(lost);
    expect(await shown()).toMatchObject({ status: 'succeeded', amount_disputed: 600, disputes: [lost] });
  });

  test('is not included in the disputed amount after it is won, but stays listed on its payment', async () => {
    const disputeId = await harness.processor.inside.dispute(chargeId, 600);
    await ledger.world.learn(id);
    await harness.processor.inside.closeDispute(disputeId, 'won');
    await ledger.world.learn(id);
    expect(await shown()).toMatchObject({ amount_disputed: 0, disputes: [{ status: 'won', amount: 600 }] });
  });

  test('does not count towards the disputed amount if the processor charged another currency', async () => {
    id = await ledger.paid('late', { source: 'tok_async' });
    const [charge] = harness.processor.charges(id);
    const { inside } = harness.processor;
    const { chargeId: late = '' } = charge ?? {};
    await inside.decline(late);
    await ledger.world.learn(id);
    await inside.approve(late);
    await inside.correct(late, { currency: 'USD' });
    await inside.dispute(late, 600);
    await ledger.world.learn(id);
    expect(await shown()).toMatchObject({ status: 'failed', currency: 'EUR', amount_disputed: 0 });
    expect(await partsOf('disputes')).toMatchObject([{ amount: 600, currency: 'USD' }]);
  });

  test('stays listed on the payment after later transitions', async () => {
    await harness.processor.inside.dispute(chargeId, 600);
    await ledger.world.learn(id);
    await harness.change(`${id}/refunds`, 'r', { amount: 100 });
    expect(await shown()).toMatchObject({ amount_refunded: 100, amount_disputed: 600, disputes: [{ status: 'open' }] });
  });
});

test('refunds and disputes of another tenant’s payment, and unknown ids, are not found', async () => {
  await harness.processor.inside.dispute(chargeId, 600);
  await harness.processor.inside.refund(chargeId, 100);
  await ledger.world.learn(id);
  harness.registerKey(OTHER_KEY, { tenantId: tenantId('ten_other') });
  const other = as(OTHER_KEY);
  for (const what of ['refunds', 'disputes']) {
    const [part] = await partsOf(what);
    const partId = String(part?.['id']);
    expect(paymentOfPart(partId)).toBe(id);
    expect((await harness.get(`/v1/${what}/${partId}`)).status).toBe(200);
    expect((await harness.get(`/v1/${what}/${partId}`, other)).status).toBe(404);
    expect((await harness.get(`/v1/payments/${id}/${what}`, other)).status).toBe(404);
    expect((await harness.get(`/v1/${what}/${partId}x`)).status).toBe(404);
    expect((await harness.get(`/v1/${what}/nothing`)).status).toBe(404);
  }
});
