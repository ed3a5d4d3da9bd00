import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { expireAuthorizationsJob } from '../../lambdas/resolving/use/expire-authorizations.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { DAY_MS, HOUR_MS, HoldWorld } from './hold-world.ts';

let world: HoldWorld;
beforeEach(() => {
  world = new HoldWorld();
});

const status = async () => (await world.chain(world.request)).state.payment;
const overdue = () => world.clock.advance(7 * DAY_MS + 2 * HOUR_MS + 1);
/** Runs the job an hour later, as its schedule does. */
const expireLater = (of = world) => {
  of.clock.advance(HOUR_MS);
  return of.expire();
};
const NOTHING = { done: 0, left: 0, failed: 0 };

describe('an authorization hold', () => {
  test('is voided if it was not captured within its validity plus a margin, and its payment is canceled as expired', async () => {
    await world.authorize();
    world.clock.advance(7 * DAY_MS + 2 * HOUR_MS);
    expect(await world.expire()).toMatchObject(NOTHING);
    expect(await status()).toMatchObject({ status: 'requires_capture' });
    world.clock.advance(1);
    expect(await world.expire()).toMatchObject({ done: 1, left: 0, failed: 0 });
    expect(await status()).toMatchObject({ status: 'canceled', cancelReason: 'expired' });
    expect(await world.types()).toEqual(['payment.created', 'payment.authorized', 'void.pending', 'payment.canceled']);
    expect(await world.violations(true)).toEqual([]);
    expect(await world.expire()).toMatchObject(NOTHING);
  });

  test('stays open for the validity of its own processor, even if another processor has a shorter validity', async () => {
    await world.authorize();
    const { processor } = world;
    const shorter = { ...processor, name: 'other', abilities: { ...processor.abilities, holdValidityMs: DAY_MS } };
    const expire = () =>
      sweepJob(expireAuthorizationsJob({ ...world.tools, processors: [processor, shorter] }), {
        nowMs: world.clock.nowMs(),
      });
    world.clock.advance(7 * DAY_MS + 2 * HOUR_MS - 1);
    expect(await expire()).toMatchObject({ done: 0, left: 1 });
    expect(await status()).toMatchObject({ status: 'requires_capture' });
    world.clock.advance(1);
    expect(await expire()).toMatchObject({ done: 1, left: 0 });
  });

  test('keeps the usual validity at a processor that no longer declares holds', async () => {
    await world.authorize();
    const { processor } = world;
    const without = { ...processor, abilities: { ...processor.abilities, holdValidityMs: 0 } };
    const expire = () =>
      sweepJob(expireAuthorizationsJob({ ...world.tools, processor: without }), { nowMs: world.clock.nowMs() });
    world.clock.advance(7 * DAY_MS);
    expect(await expire()).toMatchObject(NOTHING);
    world.clock.advance(2 * HOUR_MS + 1);
    expect(await expire()).toMatchObject({ done: 1 });
  });

  test('is in the queue of holds whether a callback or the resolver recorded it', async () => {
    await world.authorize('tok_async');
    expect(world.store.holdsLeft()).toEqual([]);
    await world.processor.inside.approve(world.chargeId);
    await world.callBack();
    expect(world.store.holdsLeft()).toMatchObject([{ paymentId: world.request.paymentId }]);

    const other = new HoldWorld();
    await other.authorize('tok_action');
    await other.processor.inside.approve(other.chargeId);
    await other.resolveForAnHour();
    expect(other.store.holdsLeft()).toMatchObject([{ paymentId: other.request.paymentId }]);
    other.clock.advance(8 * DAY_MS);
    await other.expire();
    expect(await other.violations(true)).toEqual([]);
  });

  test('leaves the queue without a void once it is captured', async () => {
    await world.authorize();
    await world.ask({ kind: 'capture' });
    overdue();
    expect(await world.expire()).toMatchObject({ done: 1, failed: 0 });
    expect(await world.violations(true)).toEqual([]);
  });

  test('is recorded as expired, without a void, if the processor expired it and the callback was lost', async () => {
    await world.authorize();
    await world.processor.inside.expire(world.chargeId);
    overdue();
    expect(await world.expire()).toMatchObject({ done: 1, failed: 0 });
    expect(await world.types()).toEqual(['payment.created', 'payment.authorized', 'payment.canceled']);
    expect(world.processor.inside.applied).toEqual([]);
    expect(await world.violations(true)).toEqual([]);
  });

  test('is recorded as captured, without a void, if it was captured at the processor', async () => {
    await world.authorize();
    await world.processor.inside.correct(world.chargeId, { status: 'succeeded', amount_captured: 400 });
    overdue();
    expect(await world.expire()).toMatchObject({ done: 1, failed: 0 });
    expect(await status()).toMatchObject({ status: 'succeeded', amountCapturedMinor: 400 });
    expect(world.processor.inside.applied).toEqual([]);
    expect(await world.violations(true)).toEqual([]);
  });

  test.each([
    ['fails', 0, 'canceled'],
    ['succeeds', 1, 'succeeded'],
  ] as const)('is not voided while a capture is in progress (the capture then %s)', async (_how, captures, ending) => {
    await world.authorize();
    world.clock.advance(7 * DAY_MS + 2 * HOUR_MS);
    const { inside } = world.processor;
    if (captures === 0) await inside.failNextChange(9, 'tok_timeout_not_charged');
    else inside.delayNext(2);
    expect(await world.ask({ kind: 'capture' })).toMatchObject({ answer: { status: 202 } });
    world.clock.advance(60_000);
    expect(await world.expire()).toMatchObject({ left: 1, failed: 0 });
    expect(inside.sent.filter(({ kind }) => kind === 'void')).toEqual([]);
    await inside.failNextChange(0, 'tok_ok');
    await inside.deliverDelayed();
    await world.resolveForAnHour();
    await world.expire();
    expect(await status()).toMatchObject({ status: ending });
    expect(inside.applied.filter(({ kind }) => kind === 'capture')).toHaveLength(captures);
    expect(await world.violations(true)).toEqual([]);
  });

  test('is left to the resolver without a second void if the outcome of the first void is unknown', async () => {
    await world.authorize();
    overdue();
    world.processor.inside.delayNext(2);
    expect(await world.expire()).toMatchObject({ left: 1, failed: 0 });
    expect(await status()).toMatchObject({ status: 'requires_capture' });
    expect(await expireLater()).toMatchObject({ left: 1, failed: 0 });
    await world.processor.inside.deliverDelayed();
    await world.resolveForAnHour();
    await world.expire();
    expect(await world.violations(true)).toEqual([]);
    expect(world.processor.inside.applied).toHaveLength(1);
  });

  test('raises one alarm while its processor is not configured, and is voided when the processor is configured again', async () => {
    await world.authorize();
    overdue();
    const alarms: string[][] = [];
    const run = (account: string) => {
      const processor = { ...world.processor, account };
      const job = expireAuthorizationsJob({ ...world.tools, processor, alarm: (...alarm) => alarms.push(alarm) });
      world.clock.advance(HOUR_MS);
      return sweepJob(job, { nowMs: world.clock.nowMs() });
    };
    expect(await run('acct_new')).toMatchObject({ failed: 1, errors: [{ code: 'processor_elsewhere' }] });
    expect(await run('acct_new')).toMatchObject({ left: 1, failed: 0 });
    expect(alarms).toEqual([['undecidable', world.request.paymentId]]);
    expect(await run(world.processor.account)).toMatchObject({ done: 1 });
    expect(await status()).toMatchObject({ status: 'canceled' });
  });

  describe('whose charge the processor no longer knows', () => {
    type Find = typeof world.processor.findCharge;
    const run = (findCharge: Find) => {
      const processor = { ...world.processor, readCharge: async () => undefined, findCharge };
      const job = expireAuthorizationsJob({ ...world.tools, processor, books: [processor] });
      return sweepJob(job, { nowMs: world.clock.nowMs() });
    };

    test('is left to an operator, and is voided if the charge reappears', async () => {
      await world.authorize();
      overdue();
      expect(await run(async () => ({ kind: 'absent' }))).toMatchObject({ done: 1, failed: 0 });
      expect(await status()).toMatchObject({ status: 'needs_review', failure: { code: 'charge_vanished' } });
      expect(world.store.holdsLeft()).toEqual([]);
      await world.callBack();
      await world.returnCharges();
      expect((await status()).status).toBe('failed');
      expect(world.processor.charges(world.request.paymentId)).toMatchObject([{ status: 'voided' }]);
    });

    test('stays open while the look-up of the charge fails', async () => {
      await world.authorize();
      overdue();
      const no = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));
      expect(await run(no)).toMatchObject({ left: 1, failed: 0 });
      expect((await status()).status).toBe('requires_capture');
      expect(await expireLater()).toMatchObject({ done: 1 });
      expect(await world.violations(true)).toEqual([]);
    });
  });

  test('is voided under a new key only after a proven failure, and only a limited number of times', async () => {
    await world.authorize();
    overdue();
    await world.processor.inside.failNextChange(1, 'tok_declined');
    expect(await world.expire()).toMatchObject({ left: 1, failed: 0 });
    expect(await world.types()).toContain('void.failed');
    expect(await expireLater()).toMatchObject({ done: 1 });
    expect(await world.violations(true)).toEqual([]);

    const stuck = new HoldWorld();
    await stuck.authorize();
    stuck.clock.advance(8 * DAY_MS);
    await stuck.processor.inside.failNextChange(100, 'tok_declined');
    for (let run = 1; run <= 10; run += 1) expect(await expireLater(stuck)).toMatchObject({ left: 1 });
    expect(await expireLater(stuck)).toMatchObject({ failed: 1, errors: [{ code: 'hold_stuck' }] });
    expect(await expireLater(stuck)).toMatchObject({ left: 1, failed: 0 });
    expect((await stuck.types()).filter((type) => type === 'void.failed')).toHaveLength(10);
    await stuck.expireAtProcessor();
    expect(await expireLater(stuck)).toMatchObject({ done: 1 });
    expect(await stuck.violations(true)).toEqual([]);
  });

  test('is voided only if the processor reports the charge as a hold', async () => {
    await world.authorize();
    await world.processor.inside.correct(world.chargeId, { status: 'pending' });
    overdue();
    expect(await world.expire()).toMatchObject({ done: 0, left: 1, failed: 0 });
    expect(await world.types()).toEqual(['payment.created', 'payment.authorized']);
    expect(world.processor.inside.applied).toEqual([]);
  });

  test('stays open, and the run fails, if the processor cannot be read', async () => {
    await world.authorize();
    overdue();
    await world.processor.inside.goDown();
    expect(await world.expire()).toMatchObject({ done: 0, failed: 1 });
    expect(await status()).toMatchObject({ status: 'requires_capture' });
    await world.processor.inside.recover();
    expect(await expireLater()).toMatchObject({ done: 1 });
  });

  test('keeps the cancel reason "requested" if the merchant has canceled the payment', async () => {
    await world.authorize();
    await world.ask({ kind: 'cancel' });
    overdue();
    expect(await world.expire()).toMatchObject({ done: 1 });
    expect(await status()).toMatchObject({ status: 'canceled', cancelReason: 'requested' });
  });

  test('is left to the next run if a slow processor exceeds the page’s time limit', async () => {
    await world.authorize();
    overdue();
    const began = world.clock.nowMs();
    // A slow read uses most of the page's time, as if the hold were one of the last of its page.
    world.slowReadsMs = 61_000;
    expect(await world.expire()).toMatchObject({ left: 1, failed: 0 });
    expect(world.clock.nowMs() - began).toBeLessThan(90_000);
    expect(await world.types()).toEqual(['payment.created', 'payment.authorized']);
    world.slowReadsMs = 0;
    expect(await expireLater()).toMatchObject({ done: 1 });
  });
});
