/** Tests the guarantee "known outcomes". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import type { OpenRecord } from '../../lambdas/once/domain/idempotency.ts';
import { type AskedDecision, decidePayment } from '../../lambdas/operators/use/decide-payment.ts';
import { moneyOf } from '../../lambdas/payments/domain/charge-money.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { abilitiesWithout } from '../../lambdas/processors/sandbox/sandbox-abilities.ts';
import { observedWork } from '../../lambdas/resolving/use/observed-work.ts';
import { resolveClaims, resolveInquiries, resultOfClaim } from '../../lambdas/resolving/use/resolve.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { callback, change, openRecord, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { ALL_DUE } from '../support/due.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';
import { World } from '../world/world.ts';

let harness: World;
beforeEach(() => {
  harness = new World();
});

describe('a stray charge', () => {
  async function lateSuccess(key: string) {
    const request = paymentRequest(key, { source: 'tok_async' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.decline(charge);
    await harness.deliver(callback(`${key}_1`, charge));
    await harness.processor.inside.approve(charge);
    await harness.deliver(callback(`${key}_2`, charge));
    return { request, charge };
  }

  test('is refunded once, automatically, and the books balance', async () => {
    const { request, charge } = await lateSuccess('late');
    expect(await harness.returnCharges()).toMatchObject({ finished: 1 });
    expect(await harness.returnCharges()).toEqual({ finished: 0, waiting: 0, undecidable: 0, failed: 0 });
    await harness.deliver(callback('late_3', charge));
    expect(harness.refundedAtProcessor(request)).toBe(1000);
    const { transitions, state } = await harness.chain(request);
    const postings = transitions.flatMap((transition) => transition.postings);
    expect(netDebitMinor('processor_clearing', 'EUR', postings)).toBe(0);
    expect(netDebitMinor('late_receipts', 'EUR', postings)).toBe(0);
    expect(state.payment).toMatchObject({ status: 'failed', amountRefundedMinor: 0 });
  });

  test.each([
    ['tok_timeout_charged', 'after it took effect'],
    ['tok_timeout_not_charged', 'before it took effect'],
    ['tok_flaky', 'with an error'],
  ])('is refunded exactly once even if the first attempt fails: %s (%s)', async (source) => {
    const { request } = await lateSuccess(source);
    await harness.processor.inside.failNextChange(1, source);
    await harness.returnCharges();
    expect(await harness.returnCharges()).toMatchObject({ failed: 0 });
    expect(harness.refundedAtProcessor(request)).toBe(1000);
    expect(await harness.store.chargesToReturn(ALL_DUE)).toEqual([]);
    expect((await harness.typesOf(request)).filter((type) => type === 'refund.completed')).toHaveLength(1);
  });

  test('is refunded under a new key after each failure at the bank, and is left to an operator after three failures', async () => {
    const { request, charge } = await lateSuccess('slow');
    const refunds = () => harness.processor.charges(request.paymentId)[0]?.refunds ?? [];
    for (const attempt of [1, 2, 3]) {
      await harness.processor.inside.failNextChange(1, 'tok_async');
      expect(await harness.returnCharges()).toMatchObject({ finished: 0, waiting: 1 });
      expect(new Set(refunds().map(({ refundId }) => refundId)).size).toBe(attempt);
      await harness.processor.inside.endRefund(String(refunds().at(-1)?.refundId), 'failed');
    }
    expect(await harness.returnCharges()).toMatchObject({ undecidable: 1 });
    expect(await harness.returnCharges()).toMatchObject({ undecidable: 0, waiting: 1 });
    expect(refunds()).toHaveLength(3);
    await harness.processor.inside.refund(charge, 1000);
    expect(await harness.returnCharges()).toMatchObject({ finished: 1 });
    expect(await harness.store.chargesToReturn(ALL_DUE)).toEqual([]);
  });

  test.each([
    ['no refunds', 'refunds', 0],
    ['no partial refunds and a part is disputed', 'partial-refunds', 400],
  ])('is left to an operator, without a send, if its processor has %s', async (_what, without, disputedMinor) => {
    harness = new World({ abilities: abilitiesWithout(without) });
    const { charge } = await lateSuccess('unsupported');
    if (disputedMinor > 0) await harness.processor.inside.dispute(charge, disputedMinor);
    expect(await harness.returnCharges()).toMatchObject({ undecidable: 1, waiting: 0 });
    expect(await harness.returnCharges()).toMatchObject({ undecidable: 0, waiting: 1 });
    expect(harness.processor.inside.sent.map(({ kind }) => kind)).toEqual(['charge']);
  });

  async function lateHold() {
    const request = paymentRequest('late-hold', { source: 'tok_async', capture: 'manual' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.decline(charge);
    await harness.deliver(callback('h_1', charge));
    await harness.processor.inside.approve(charge);
    await harness.deliver(callback('h_2', charge));
    return { request, charge };
  }

  test('is voided if it is only authorized', async () => {
    const { request } = await lateHold();
    expect(await harness.returnCharges()).toMatchObject({ finished: 1 });
    expect(harness.processor.charges(request.paymentId)[0]?.status).toBe('voided');
  });

  test('is voided again if it is authorized a second time after a decline or a void', async () => {
    const { request, charge } = await lateHold();
    for (const status of ['declined', 'voided'] as const) {
      await harness.processor.inside.correct(charge, { status });
      await harness.returnCharges();
      expect(await harness.store.chargesToReturn(ALL_DUE)).toEqual([]);
      harness.clock.advance(60_000);
      await harness.processor.inside.correct(charge, { status: 'authorized' });
      await harness.deliver(callback(`h_again_${status}`, charge));
      expect(await harness.returnCharges()).toMatchObject({ finished: 1 });
      expect(harness.processor.charges(request.paymentId)[0]?.status).toBe('voided');
    }
    expect(await harness.typesOf(request)).toHaveLength(4);
  });

  test('is refunded if it is captured before its void, even with a late callback', async () => {
    const { request, charge } = await lateHold();
    await harness.processor.inside.capture(charge);
    expect(await harness.returnCharges()).toMatchObject({ finished: 1 });
    await harness.deliver(callback('h_3', charge));
    expect(await harness.returnCharges()).toMatchObject({ finished: 1 });
    expect(await harness.store.chargesToReturn(ALL_DUE)).toEqual([]);
    expect(harness.capturedAtProcessor(request)).toBe(1000);
    expect(harness.refundedAtProcessor(request)).toBe(1000);
    expect((await harness.typesOf(request)).filter((type) => type === 'payment.late_success')).toHaveLength(2);
  });

  test('raises the late-success alarm when the job finds its hold captured; a later callback records nothing', async () => {
    const { charge } = await lateHold();
    await harness.processor.inside.capture(charge);
    const alarms: string[] = [];
    await returnCharges({ ...harness.tools, alarm: (what) => void alarms.push(what) });
    expect(alarms).toEqual(['late_success']);
    expect(await harness.deliver(callback('h_3', charge))).toMatchObject({ transitions: [] });
  });

  test('stays queued for a refund if the earlier queue entry for its void is closed late', async () => {
    const { request, charge } = await lateHold();
    const [hold] = await harness.store.chargesToReturn(ALL_DUE);
    await harness.processor.inside.capture(charge);
    await harness.deliver(callback('h_3', charge));
    if (hold !== undefined) await harness.store.closeReturn(hold);
    expect(await harness.returnCharges()).toMatchObject({ finished: 1 });
    expect(harness.refundedAtProcessor(request)).toBe(1000);
  });

  test('is refunded under a different key than its refused void if it is captured later', async () => {
    const { request, charge } = await lateHold();
    await harness.processor.inside.failNextChange(1, 'tok_declined');
    expect(await harness.returnCharges()).toMatchObject({ undecidable: 1 });
    await harness.processor.inside.capture(charge);
    await harness.deliver(callback('h_3', charge));
    expect(harness.processor.inside.sent.map(({ kind }) => kind)).toEqual(['charge', 'void']);
    expect(await harness.returnCharges()).toMatchObject({ finished: 1 });
    const { sent } = harness.processor.inside;
    expect(sent.map(({ kind }) => kind)).toEqual(['charge', 'void', 'refund']);
    expect(new Set(sent.map(({ operationId }) => operationId)).size).toBe(3);
    expect(harness.refundedAtProcessor(request)).toBe(1000);
  });
});

describe('the resolver', () => {
  test('finishes a payment whose owner crashed, and stores the response that the caller receives later', async () => {
    const request = paymentRequest('dead');
    await harness.claimThenDie(request, true);
    expect(await harness.resolveClaims()).toEqual({ finished: 0, waiting: 0, undecidable: 0, failed: 0 });
    harness.clock.advance(26_000);
    expect(await harness.resolveClaims()).toMatchObject({ finished: 1 });
    expect(await harness.pay(request)).toMatchObject({ kind: 'replay', answer: { status: 201 } });
    expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
  });

  describe('for a released claim whose processor account is no longer configured,', () => {
    const refusing = () => Promise.reject(new RetryableError('processor_unauthorized', '401'));
    const moved = () => ({ ...harness.processor, account: 'acct_new' });

    test('waits until the send window has closed, then records the payment as failed with not_attempted', async () => {
      const request = paymentRequest('released');
      await expect(harness.pay(request, { processor: { ...harness.processor, charge: refusing } })).rejects.toThrow(
        '401',
      );
      harness.clock.advance(14 * 60_000);
      expect(await resolveClaims({ ...harness.tools, processor: moved() })).toMatchObject({ finished: 0 });
      await expect(harness.pay(request, { processor: moved() })).rejects.toThrow('no longer calls');
      harness.clock.advance(2 * 60_000);
      expect(await resolveClaims({ ...harness.tools, processor: moved() })).toMatchObject({ finished: 1 });
      expect((await harness.chain(request)).state.payment).toMatchObject({
        status: 'failed',
        failure: { code: 'not_attempted' },
      });
    });

    test('releases the money that the claim reserved for a refund', async () => {
      const request = paymentRequest('reserved');
      await harness.pay(request);
      const refund = change(request, 'r', { kind: 'refund' });
      await expect(harness.change(refund, { processor: { ...harness.processor, change: refusing } })).rejects.toThrow(
        '401',
      );
      harness.clock.advance(14 * 60_000);
      await expect(harness.change(refund, { processor: moved() })).rejects.toThrow('no longer calls');
      harness.clock.advance(2 * 60_000);
      expect(await resolveClaims({ ...harness.tools, processor: moved() })).toMatchObject({ finished: 1 });
      expect((await harness.chain(request)).state.refunds.get(refund.operationId)).toMatchObject({
        status: 'failed',
        failure: { code: 'not_attempted' },
      });
      expect(await harness.change(change(request, 'r2', { kind: 'refund' }))).toMatchObject({
        answer: { status: 201 },
      });
    });
  });

  test('raises a single alarm for a claim that several runs cannot finish, and finishes it later', async () => {
    const request = paymentRequest('stuck');
    await harness.claimThenDie(request, true);
    const alarms: string[] = [];
    const run = (outcome?: 'key_expired') => {
      harness.clock.advance(2 * 60_000);
      const alarm = (what: string, about: string) => void alarms.push(`${what} ${about}`);
      const finishOther = async (record: OpenRecord) =>
        outcome === undefined ? undefined : resultOfClaim(harness.tools, outcome, record);
      return resolveClaims({ ...harness.tools, alarm, finishOther });
    };
    expect(await run('key_expired')).toMatchObject({ finished: 0, undecidable: 1 });
    expect(await run('key_expired')).toMatchObject({ finished: 0, undecidable: 0, waiting: 1 });
    expect(await run('key_expired')).toMatchObject({ waiting: 1 });
    expect(harness.reported).toMatchObject([{ code: 'claim_stuck' }]);
    expect(alarms).toEqual([`undecidable ${request.paymentId}`]);
    expect(await run()).toMatchObject({ finished: 1 });
  });

  test('raises an alarm for a claim whose record a restore has lost, and does not count it as finished', async () => {
    const request = paymentRequest('stuck');
    await harness.pay(request);
    const stuck: OpenRecord = { ...openRecord(request.paymentId), operationId: chargeOperation(request.paymentId) };
    harness.store.deleteRecord(stuck.operationId);
    const alarms: string[][] = [];
    const work = {
      ...observedWork(harness.store, harness.clock, () => undefined),
      staleClaims: async () => [stuck],
    };
    const alarm = (...raised: string[]) => void alarms.push(raised);
    expect(await resolveClaims({ ...harness.tools, alarm, work })).toMatchObject({ finished: 0, undecidable: 1 });
    expect(harness.reported).toMatchObject([{ code: 'claim_stuck' }]);
    expect(alarms).toEqual([['undecidable', request.paymentId]]);
  });

  test.each([
    ['tok_timeout_charged', 'payment.completed'],
    ['tok_timeout_not_charged', 'payment.completed'],
  ])('determines the outcome of %s without changing the stored 202', async (source, ending) => {
    const request = paymentRequest(source);
    const blind = {
      ...harness.processor,
      charge: () => Promise.reject(new AmbiguousError('processor_timeout', 'no')),
      findCharge: () => Promise.reject(new RetryableError('processor_unreachable', 'no')),
    };
    if (source === 'tok_timeout_charged') await harness.processor.charge(orderOf(request), { timeoutMs: 1 });
    expect(await harness.pay(request, { processor: blind })).toMatchObject({ answer: { status: 202 } });
    expect(await harness.resolveInquiries()).toMatchObject({ finished: 1 });
    expect((await harness.typesOf(request)).at(-1)).toBe(ending);
    expect(await harness.pay(request)).toMatchObject({ kind: 'replay', answer: { status: 202 } });
    expect(await harness.store.inquiries()).toEqual([]);
    expect(harness.processor.charges(request.paymentId)).toHaveLength(1);
  });

  test('raises one alarm for a charge unknown to the processor and one for its refund; a decision releases the refund’s amount', async () => {
    const request = paymentRequest('unknown', { source: 'tok_async' });
    await harness.pay(request);
    const charge = harness.chargeOf(request);
    await harness.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 999 });
    await harness.deliver(callback('unknown_1', charge));
    const readCharge = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));
    const away = { books: [{ ...harness.processor, readCharge }] };
    const decide = (asked: Omit<AskedDecision, 'kind'>, changes = {}) =>
      decidePayment(
        { ...harness.tools, ...changes },
        {
          cause: BY_OPERATOR,
          operationId: storedOperationId(`dec_${asked.outcome}`),
          fingerprint: fingerprintOf(harness.tools.digest, { body: {}, query: {} }),
          payment: request.paymentId,
          reason: 'Seen on the statement',
          by: OPERATOR,
          asked: { kind: 'decision', ...asked },
        },
      );
    await decide({ outcome: 'succeeded', chargeId: 'ch_nowhere', takenMinor: 1000, override: true }, away);
    const refund = change(request, 'refund', { kind: 'refund', amountMinor: 1000 });
    await expect(harness.change(refund)).rejects.toThrow(RetryableError);
    const alarms: string[] = [];
    const tools = { ...harness.tools, alarm: (what: string, about: string) => void alarms.push(`${what} ${about}`) };
    for (let minute = 0; minute < 5 * 60; minute += 1) {
      harness.clock.advance(60_000);
      await resolveClaims(tools);
      await resolveInquiries(tools);
    }
    const raised = `undecidable ${request.paymentId}`;
    expect(alarms.filter((each) => each.startsWith('undecidable'))).toEqual([raised, raised]);
    const entries = (await harness.store.inquiries()).filter(({ undecidable }) => undecidable === true);
    expect(new Set(entries.map(({ operationId }) => operationId))).toEqual(new Set(['ch_nowhere', refund.operationId]));
    await decide({ outcome: 'failed', change: refund.operationId });
    const { state } = await harness.chain(request);
    expect(state.refunds.get(refund.operationId)).toMatchObject({ status: 'failed' });
    expect(moneyOf('ch_nowhere', state)).toMatchObject({ leftMinor: 1000, pendingMinor: 0 });
  });

  test.each(['tok_async', 'tok_action'])(
    'continues to look up another charge of the payment until that charge has a result: %s',
    async (source) => {
      const request = paymentRequest(`other-${source}`, { source });
      const { paymentId } = request;
      const { inside } = harness.processor;
      const store = harness.storeWithRival(async () => {
        const { chargeId } = await inside.charge({ paymentId, operationId: paymentId, amountMinor: 1000 });
        await harness.deliver(callback('evt_1', chargeId));
      });
      await harness.pay(request, { store });
      const [own] = harness.processor.charges(paymentId);
      const looks: string[] = [];
      const books = {
        ...harness.processor,
        readCharge: (...asked: Parameters<typeof harness.processor.readCharge>) => {
          if (asked[0] === own?.chargeId) looks.push(asked[0]);
          return harness.processor.readCharge(...asked);
        },
      };
      const untilLooked = async () => {
        const before = looks.length;
        for (let minutes = 0; minutes < 2 * 24 * 60 && looks.length === before; minutes += 1) {
          harness.clock.advance(60_000);
          await resolveInquiries({ ...harness.tools, books: [books] });
        }
      };
      await untilLooked();
      expect([looks.length > 0, harness.store.queued('inquiry')]).toEqual([true, 1]);
      await inside.correct(own?.chargeId ?? '', { status: 'succeeded', amount_captured: 1000 });
      await untilLooked();
      expect(await harness.store.chargesToReturn(ALL_DUE)).toMatchObject([{ chargeId: own?.chargeId }]);
    },
  );

  test('waits for a processor that is unavailable for hours, and reports no failure', async () => {
    const request = paymentRequest('away');
    let asked = 0;
    const no = () => {
      asked += 1;
      return Promise.reject(new RetryableError('processor_unreachable', 'no'));
    };
    const charge = () => Promise.reject(new AmbiguousError('processor_timeout', 'no'));
    const away = { ...harness.processor, charge, findCharge: no, chargesOfPayment: no, readCharge: no };
    await harness.pay(request, { processor: away });
    harness.clock.advance(3 * 60 * 60_000);
    const books = [away];
    asked = 0;
    // The resolver looks up an outcome that is older than an hour only once every 15 minutes.
    const counts = { finished: 0, waiting: 0, undecidable: 0, failed: 0 };
    for (let minute = 0; minute < 30; minute += 1) {
      harness.clock.advance(60_000);
      const results = await resolveInquiries({ ...harness.tools, processor: away, books });
      for (const [what, times] of Object.entries(results)) counts[what as keyof typeof counts] += times;
    }
    expect(counts).toEqual({ finished: 0, waiting: 3, undecidable: 0, failed: 0 });
    expect(asked).toBeGreaterThan(0);
    expect(harness.reported).toEqual([]);
  });

  test('resends a charge with the return URL of its payment', async () => {
    const returnUrl = 'https://shop.example/done';
    const request = paymentRequest('back', { returnUrl });
    const silent = {
      ...harness.processor,
      charge: () => Promise.reject(new AmbiguousError('processor_timeout', 'no')),
    };
    expect(await harness.pay(request, { processor: silent })).toMatchObject({ answer: { status: 202 } });
    const sent: (string | undefined)[] = [];
    const processor = {
      ...harness.processor,
      charge: (...call: Parameters<typeof harness.processor.charge>) => {
        sent.push(call[0].returnUrl);
        return harness.processor.charge(...call);
      },
    };
    expect(await resolveInquiries({ ...harness.tools, processor })).toMatchObject({ finished: 1 });
    expect(sent).toEqual([returnUrl]);
  });

  test('fails a payment without charging it after the send window, as soon as a look-up proves that there is no charge', async () => {
    const request = paymentRequest('long-ago');
    const silent = {
      ...harness.processor,
      charge: () => Promise.reject(new AmbiguousError('processor_timeout', 'no')),
    };
    await harness.pay(request, { processor: silent });
    harness.clock.advance(16 * 60_000);
    expect(await harness.resolveInquiries()).toMatchObject({ waiting: 1 });
    harness.clock.advance(40 * 60_000);
    expect(await harness.resolveInquiries()).toMatchObject({ finished: 1 });
    expect((await harness.chain(request)).state.payment).toMatchObject({
      status: 'failed',
      failure: { code: 'not_attempted' },
    });
    expect(harness.processor.charges(request.paymentId)).toEqual([]);
  });

  test('does not abandon a payment that a processor has accepted but cannot look up', async () => {
    const abilities = { lookup: { kind: 'none' } as const, keyRetentionMs: 86_400_000 };
    const processor = createSandboxInProcess({ clock: harness.clock, abilities });
    const request = paymentRequest('accepted', { source: 'tok_async' });
    await harness.pay(request, { processor });
    for (const minutes of [1, 16, 60]) {
      harness.clock.advance(minutes * 60_000);
      await resolveInquiries({ ...harness.tools, processor, books: [processor] });
    }
    const charge = String(processor.charges(request.paymentId)[0]?.chargeId);
    await processor.inside.approve(charge);
    await harness.deliver(callback('e', charge), { books: processor });
    expect((await harness.chain(request)).state.payment.status).toBe('succeeded');
  });

  test.each([
    ['finds the charge by key', {}],
    ['cannot look the charge up', { abilities: { lookup: { kind: 'none' } as const, keyRetentionMs: 86_400_000 } }],
  ])('finishes a pending charge that was voided without a callback: the processor %s', async (_how, options) => {
    const world = new World(options);
    const request = paymentRequest('voided', { source: 'tok_async' });
    await world.pay(request);
    await world.processor.inside.correct(world.chargeOf(request), { status: 'voided' });
    world.clock.advance(16 * 60_000);
    expect(await world.resolveInquiries()).toMatchObject({ waiting: 1 });
    world.clock.advance(30 * 60_000);
    await world.resolveInquiries();
    expect((await world.chain(request)).state.payment.status).toBe('canceled');
    world.clock.advance(15 * 60_000);
    expect(await world.resolveInquiries()).toMatchObject({ finished: 1 });
  });

  test('waits for a slow payment, and closes its inquiry after a callback has settled it', async () => {
    const request = paymentRequest('days', { source: 'tok_async' });
    await harness.pay(request);
    expect(await harness.resolveInquiries()).toMatchObject({ waiting: 1 });
    await harness.processor.inside.approve(harness.chargeOf(request));
    await harness.deliver(callback('evt_1', harness.chargeOf(request)));
    harness.clock.advance(60_000);
    expect(await harness.resolveInquiries()).toMatchObject({ finished: 1 });
  });

  describe('when a payer must approve and the callback is lost,', () => {
    const QUARTER = 15;
    async function lookFor(minutes: number): Promise<void> {
      for (let minute = 0; minute < minutes; minute += 1) {
        harness.clock.advance(60_000);
        await harness.resolveClaims();
        await harness.resolveInquiries();
      }
    }

    test('finds the approval within half an hour, and then makes no further look-up', async () => {
      const request = paymentRequest('approved', { source: 'tok_action' });
      expect(await harness.pay(request)).toMatchObject({ answer: { status: 202 } });
      await lookFor(QUARTER);
      expect((await harness.chain(request)).state.payment.status).toBe('requires_action');
      await harness.processor.inside.approve(harness.chargeOf(request));
      await lookFor(2 * QUARTER);
      expect((await harness.chain(request)).state.payment.status).toBe('succeeded');
      expect(await harness.store.inquiries()).toEqual([]);
      expect(harness.processor.sends(chargeOperation(request.paymentId))).toBe(1);
    });

    test('finds the expiry at the processor', async () => {
      const request = paymentRequest('ran-out', { source: 'tok_action' });
      await harness.pay(request);
      await harness.processor.inside.expire(harness.chargeOf(request));
      await lookFor(QUARTER);
      expect((await harness.chain(request)).state.payment).toMatchObject({
        status: 'canceled',
        cancelReason: 'abandoned',
      });
      await lookFor(QUARTER);
      expect(await harness.store.inquiries()).toEqual([]);
    });

    const forgetful = ({ processor }: World) => ({
      ...processor,
      readCharge: async () => undefined,
      findCharge: async () => ({ kind: 'absent' as const }),
    });

    const WITHOUT_LOOK_UP = { abilities: { lookup: { kind: 'none' } as const, keyRetentionMs: 86_400_000 } };

    test.each([
      ['tok_action', 'finds charges by key', {}],
      ['tok_action', 'cannot look charges up', WITHOUT_LOOK_UP],
      ['tok_async', 'cannot look charges up', WITHOUT_LOOK_UP],
    ])(
      'leaves a payment (%s) to an operator if its charge has disappeared and the processor %s, and returns money that arrives later',
      async (source, _how, options) => {
        const world = new World(options);
        const request = paymentRequest('gone', { source });
        await world.pay(request);
        const charge = world.chargeOf(request);
        const processor = forgetful(world);
        const look = () => resolveInquiries({ ...world.tools, processor, books: [processor] });
        const payment = async () => (await world.chain(request)).state.payment;
        world.clock.advance(44 * 60_000);
        expect(await look()).toMatchObject({ waiting: 1 });
        expect((await payment()).status).not.toBe('needs_review');
        world.clock.advance(QUARTER * 60_000);
        expect(await look()).toMatchObject({ finished: 1 });
        expect(await payment()).toMatchObject({ status: 'needs_review', failure: { code: 'charge_vanished' } });
        expect(world.reported).toEqual([]);
        await world.processor.inside.approve(charge);
        await world.deliver(callback('late', charge));
        await world.returnCharges();
        expect((await payment()).status).toBe('failed');
        expect(world.refundedAtProcessor(request)).toBe(1000);
      },
    );

    test('waits while the look-up of a charge that has disappeared fails', async () => {
      const request = paymentRequest('unsure', { source: 'tok_action' });
      await harness.pay(request);
      const no = () => Promise.reject(new RetryableError('processor_unreachable', 'no'));
      const processor = { ...forgetful(harness), findCharge: no };
      harness.clock.advance(2 * 60 * 60_000);
      const outcome = await resolveInquiries({ ...harness.tools, processor, books: [processor] });
      expect(outcome).toMatchObject({ waiting: 1, failed: 0 });
      expect((await harness.chain(request)).state.payment.status).toBe('requires_action');
      await harness.processor.inside.approve(harness.chargeOf(request));
      await lookFor(QUARTER);
      expect((await harness.chain(request)).state.payment.status).toBe('succeeded');
    });

    test('finds an approval that was given before a cancellation was refused', async () => {
      const request = paymentRequest('too-late', { source: 'tok_action' });
      await harness.pay(request);
      await harness.processor.inside.approve(harness.chargeOf(request));
      await harness.change(change(request, 'v', { kind: 'cancel' }));
      await lookFor(QUARTER);
      expect((await harness.chain(request)).state.payment.status).toBe('succeeded');
    });
  });

  test('keeps a payment waiting while its processor is unavailable, and finishes it afterwards', async () => {
    const request = paymentRequest('unreachable', { source: 'tok_async' });
    await harness.pay(request);
    await harness.processor.inside.goDown();
    expect(await harness.resolveInquiries()).toMatchObject({ waiting: 1, failed: 0 });
    await harness.processor.inside.recover();
    await harness.processor.inside.approve(harness.chargeOf(request));
    harness.clock.advance(60_000);
    expect(await harness.resolveInquiries()).toMatchObject({ finished: 1 });
  });
});

test('the resolver finishes a payment with a pending charge, even if it finds another charge of the operation first', async () => {
  const request = paymentRequest('two-charges');
  const { processor } = harness;
  const unanswered = async () => {
    throw new AmbiguousError('injected_ambiguity', 'the response is lost');
  };
  const charge: typeof processor.charge = async (...asked) => processor.charge(...asked).then(unanswered);
  await harness.pay(request, { processor: { ...processor, charge, findCharge: unanswered } });
  const returned = harness.chargeOf(request);
  const { amountMinor, paymentId } = request;
  const about = { paymentId, operationId: chargeOperation(paymentId) };
  const { chargeId: own } = await processor.inside.charge({ ...about, amountMinor, source: 'tok_async' });
  await harness.deliver(callback('own', own));
  expect((await harness.chain(request)).state.payment).toMatchObject({ status: 'processing', chargeId: own });
  await processor.inside.approve(own);
  expect(await harness.resolveInquiries()).toMatchObject({ finished: 1 });
  await harness.returnCharges();
  expect((await harness.chain(request)).state.payment).toMatchObject({ status: 'succeeded', chargeId: own });
  expect(processor.charges(paymentId).map(({ chargeId }) => chargeId)).toEqual([returned, own]);
  expect(harness.refundedAtProcessor(request)).toBe(1000);
});

const orderOf = (request: CreatePayment) => ({
  operationId: chargeOperation(request.paymentId),
  paymentId: request.paymentId,
  amountMinor: request.amountMinor,
  currency: request.currency,
  source: 'tok_ok',
  capture: request.capture,
});
