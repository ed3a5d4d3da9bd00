/** A process cannot close the queue entry of an object that another process has since read as open. */
import { expect, test } from '@jest/globals';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { readCharge, recordCharge } from '../../lambdas/payments/use/record-charge.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { DAY_HOURS, OpenObjectsWorld } from './open-objects-world.ts';

const HOUR_MS = 60 * 60_000;

test('a reopened dispute stays queued if another process reads it just before the resolver closes the charge’s entry', async () => {
  const world = new OpenObjectsWorld();
  const payment = paymentRequest('seen-again');
  await world.pay(payment);
  const chargeId = world.chargeOf(payment);
  const { inside } = world.processor;
  const dispute = await inside.dispute(chargeId, 300);
  await world.sendCallback(chargeId);
  await inside.closeDispute(dispute, 'won');
  world.clock.advance(2 * HOUR_MS);

  const { tools } = world;
  const showAs = async (status: 'open' | 'won') => {
    const { disputes } = await inside.read(chargeId);
    await inside.correct(chargeId, { disputes: disputes.map((each) => ({ ...each, status })) });
  };
  const reopen = async () => {
    await showAs('open');
    const { paymentId } = payment;
    await recordCharge(tools, paymentId, chargeOperation(paymentId), () => readCharge(world.processor, chargeId));
  };
  const closing: string[] = [];
  const { store } = world;
  const close = store.closeInquiry.bind(store);
  store.closeInquiry = async (inquiry) => {
    store.closeInquiry = close;
    closing.push(inquiry.operationId);
    await reopen();
    await close(inquiry);
  };
  await resolveInquiries(tools);
  expect(closing).toEqual([chargeId]);

  expect(await world.queued()).toEqual([chargeId]);
  await world.live(2 * DAY_HOURS);
  expect(await world.queued()).toEqual([chargeId]);
  await showAs('won');
  await world.live(2 * DAY_HOURS);
  expect(await world.queued()).toEqual([]);
});
