/**
 * A processor that does not know a charge proves nothing: its books may lag, or the API key may belong to another
 * account. An object that was seen as open stays in its queue.
 */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { annotatePayment } from '../../lambdas/operators/use/annotate-payment.ts';
import { resolveClaims, resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { callback, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { sliceOf } from '../support/slice.ts';
import { COURSES, DAY_HOURS, KINDS, OpenObjectsWorld, opened } from './open-objects-world.ts';

const HOUR_MS = 60 * 60_000;

let world: OpenObjectsWorld;
let unknown: { readonly books: OpenObjectsWorld['tools']['books'] };
const payment = paymentRequest('open');

beforeEach(() => {
  world = new OpenObjectsWorld();
  unknown = { books: [{ ...world.processor, readCharge: async () => undefined }] };
});

const undecidable = () => world.alarms.filter((what) => what === 'undecidable');

const declareMissing = (missingCharge: string) =>
  annotatePayment(world.tools, {
    cause: BY_OPERATOR,
    by: OPERATOR,
    operationId: storedOperationId(`ann_${missingCharge}`),
    fingerprint: fingerprintOf(world.tools.digest, { body: {}, query: {} }),
    payment: payment.paymentId,
    reason: 'The processor’s support found no such charge',
    missingCharge,
  });

const CASES = Object.entries(KINDS).flatMap(([kind, { courses }]) =>
  courses.map((course, index) => ({ kind, course, index })),
);
const ofKind = CASES.filter(({ index }) => index === 0);

describe('an open object whose charge the processor temporarily does not know', () => {
  test.each([
    ...ofKind,
    ...sliceOf(
      CASES.filter((each) => !ofKind.includes(each)),
      5,
    ),
  ])('stays queued, and its end is recorded: $kind of a payment that is $course', async ({ kind, course }) => {
    await COURSES[course](world, payment);
    const object = await opened(kind, world, payment);
    await world.sendCallback(object.chargeId);
    await world.live(3 * DAY_HOURS, unknown);
    const entries = await world.store.inquiries();
    expect(entries).toContainEqual(expect.objectContaining({ operationId: object.chargeId, undecidable: true }));
    // After a decision, the payment's own charge is read, too, and is also reported.
    const raised = entries.flatMap(({ undecidable: isMarked }) => (isMarked === true ? ['undecidable'] : []));
    expect(undecidable()).toEqual(raised);
    await world.live(2 * DAY_HOURS);
    await object.end();
    await world.live(2 * DAY_HOURS);
    expect(await world.queued()).not.toContain(object.chargeId);
    expect(undecidable()).toEqual(raised);
    if (course === 'in review') await world.decide(payment, { outcome: 'succeeded', takenMinor: 999 });
    await world.live(3);
    const { there, booked } = await world.held(payment);
    expect(booked).toBe(there);
  });
});

describe('a pending second charge that the processor does not know', () => {
  let chargeId: string;

  beforeEach(async () => {
    await world.pay(payment);
    ({ chargeId } = await opened('a pending second charge', world, payment));
    await world.sendCallback(chargeId);
  });

  test('raises no alarm while the books may lag', async () => {
    world.clock.advance(HOUR_MS);
    await resolveInquiries({ ...world.tools, ...unknown });
    expect(await world.queued()).toEqual([chargeId]);
    await world.live(2 * DAY_HOURS);
    expect(world.alarms).toEqual([]);
    expect(await world.queued()).toEqual([chargeId]);
  });

  test('stays tracked if only a search has found it', async () => {
    for (const entry of await world.store.inquiries()) await world.store.closeInquiry(entry);
    await world.bookInquiry(payment);
    await world.live(5, unknown);
    await world.live(2 * DAY_HOURS);
    await world.processor.inside.approve(chargeId);
    await world.live(2 * DAY_HOURS);
    expect(world.refundedAtProcessor(payment)).toBe(1000);
    expect(await world.queued()).toEqual([]);
  });

  test('stays queued for an operator until an operator states that it does not exist', async () => {
    await world.live(3 * DAY_HOURS, unknown);
    await declareMissing('ch_other');
    await world.live(2 * DAY_HOURS, unknown);
    expect(await world.queued()).toEqual([chargeId]);
    await declareMissing(chargeId);
    await world.live(2 * DAY_HOURS, unknown);
    expect(await world.queued()).toEqual([]);
    expect(undecidable()).toHaveLength(1);
  });

  test('stays queued while the processor knows it, whatever an operator states', async () => {
    await declareMissing(chargeId);
    await world.live(2 * DAY_HOURS);
    expect(await world.queued()).toEqual([chargeId]);
  });

  test('is queued again when it reappears, and an earlier statement does not end the new look-ups', async () => {
    await declareMissing(chargeId);
    await world.live(2 * DAY_HOURS, unknown);
    expect(await world.queued()).toEqual([]);
    await world.sendCallback(chargeId);
    await world.live(2 * DAY_HOURS, unknown);
    expect(await world.queued()).toEqual([chargeId]);
  });
});

test('a dispute that is open in the chain stays queued although an operator states that its charge does not exist', async () => {
  await world.pay(payment);
  const { chargeId } = await opened('a dispute', world, payment);
  await world.sendCallback(chargeId);
  await declareMissing(chargeId);
  await world.live(3 * DAY_HOURS, unknown);
  expect(await world.queued()).toEqual([chargeId]);
});

describe('a pending charge of the payment itself', () => {
  const absent = async () => ({ kind: 'absent' as const });

  test.each([
    ['an inquiry', false],
    ['the takeover of a claim', true],
  ])(
    'that the look-up by key does not find keeps %s waiting, because the processor’s books contain it',
    async (_by, isClaimed) => {
      const request = paymentRequest('without-key', { source: 'tok_async' });
      if (isClaimed) await world.claimThenDie(request, true);
      else await world.pay(request);
      const chargeId = world.chargeOf(request);
      await world.deliver(callback('pending', chargeId));
      const withoutKey = { processor: { ...world.processor, findCharge: absent } };
      for (let hour = 0; hour < 3; hour += 1) {
        world.clock.advance(HOUR_MS);
        await resolveClaims({ ...world.tools, ...withoutKey });
        await resolveInquiries({ ...world.tools, ...withoutKey });
      }
      expect((await world.chain(request)).state.payment).toMatchObject({ status: 'processing', chargeId });
      await world.processor.inside.approve(chargeId);
      await world.live(DAY_HOURS, withoutKey);
      expect((await world.chain(request)).state.payment.status).toBe('succeeded');
      expect(await world.queued()).toEqual([]);
      expect(world.store.openClaims()).toBe(0);
    },
  );

  test('that the processor no longer knows is read again until it has a result', async () => {
    const request = paymentRequest('gone', { source: 'tok_async' });
    await world.pay(request);
    const chargeId = world.chargeOf(request);
    const gone = {
      ...unknown,
      processor: { ...world.processor, findCharge: absent, readCharge: async () => undefined },
    };
    await world.live(3, gone);
    const { payment: reviewed } = (await world.chain(request)).state;
    expect(reviewed).toMatchObject({ status: 'needs_review', failure: { code: 'charge_vanished' } });
    expect(await world.queued()).toEqual([chargeId]);
    await world.live(DAY_HOURS);
    await world.processor.inside.approve(chargeId);
    await world.live(2 * DAY_HOURS);
    expect((await world.chain(request)).state.payment.status).toBe('failed');
    expect(world.refundedAtProcessor(request)).toBe(1000);
    expect(await world.queued()).toEqual([]);
  });
});
