import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { BEYOND_LEASE_MS, type PaymentWorld } from '../payments/payment-story.ts';
import { type FaultKind, FaultPlan } from '../support/fault-plan.ts';
import { createTables } from '../support/local-aws.ts';
import { fakeDate } from './stock-date.ts';
import { answerOf, ENGINE_CALLS, engineWorld, STOCK_CALLS, stockWorld } from './stock-versus-engine.ts';

const SIX_DAYS_MS = 6 * 24 * 60 * 60_000;

let tables: Awaited<ReturnType<typeof createTables>>;
let request = paymentRequest('stock-effects-0');
let tests = 0;
beforeAll(async () => {
  tables = await createTables('stock-effects');
  fakeDate();
});
afterAll(() => {
  jest.useRealTimers();
});
beforeEach(() => {
  tests += 1;
  request = paymentRequest(`stock-effects-${tests}`);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const faultAt = (point: number, kind: FaultKind): FaultPlan => new FaultPlan([{ point, kind }]);

/** The pause lasts until the attempt's lease has expired and a rival has completed the payment. */
async function withRivalInTheMiddle(world: PaymentWorld, plan: FaultPlan, charge: number) {
  let rivalSaw: Awaited<ReturnType<PaymentWorld['attempt']>> | undefined;
  plan.holdAt(charge, async () => {
    world.clock.advance(BEYOND_LEASE_MS);
    rivalSaw = await world.attempt('rival', request);
  });
  const firstSaw = await world.attempt('first', request);
  if (rivalSaw === undefined) throw new Error('the rival was not run');
  return { firstSaw, rivalSaw };
}

describe('a crash after an effect, before its result is saved', () => {
  test('makes the stock Powertools layer charge and post a second time', async () => {
    const world = stockWorld(tables, faultAt(STOCK_CALLS.save, 'crash_before'));
    await world.attempt('first', request);
    world.clock.advance(BEYOND_LEASE_MS);
    await world.attempt('retry', request);
    expect(await world.violations(request)).toEqual(
      expect.arrayContaining(['I1: 2 charges', 'I2: 2 sets of postings']),
    );
  });

  test('makes the stock Powertools layer post a second time even if the processor key is the same', async () => {
    const world = stockWorld(tables, faultAt(STOCK_CALLS.save, 'crash_before'), { processorKey: 'same' });
    await world.attempt('first', request);
    world.clock.advance(BEYOND_LEASE_MS);
    await world.attempt('retry', request);
    expect(await world.violations(request)).toContain('I2: 2 sets of postings');
  });

  test('cannot occur in Payonce, where effect and result are written in one transaction; a retry completes the payment', async () => {
    const world = engineWorld(tables, faultAt(ENGINE_CALLS.commit, 'crash_before'));
    await world.attempt('first', request);
    world.clock.advance(BEYOND_LEASE_MS);
    expect(answerOf(await world.attempt('retry', request)).status).toBe(201);
    expect(await world.violations(request)).toEqual([]);
  });
});

describe('an owner that resumes after its lease expired and a rival finished', () => {
  test('with the stock Powertools layer, overwrites the stored response of the winner', async () => {
    const plan = new FaultPlan();
    const world = stockWorld(tables, plan);
    const { rivalSaw } = await withRivalInTheMiddle(world, plan, STOCK_CALLS.charge);
    const replay = answerOf(await world.attempt('replay', request));
    expect(replay.body).not.toBe(answerOf(rivalSaw).body);
    expect(await world.violations(request)).toContain('I3: 2 different responses');
  });

  test('with Payonce, is fenced and returns the response of the winner', async () => {
    const plan = new FaultPlan();
    const world = engineWorld(tables, plan);
    const { firstSaw, rivalSaw } = await withRivalInTheMiddle(world, plan, ENGINE_CALLS.charge);
    const replay = await world.attempt('replay', request);
    expect(answerOf(rivalSaw).status).toBe(201);
    expect(answerOf(firstSaw)).toEqual(answerOf(rivalSaw));
    expect(answerOf(replay)).toEqual(answerOf(rivalSaw));
    expect(await world.violations(request)).toEqual([]);
  });

  test('with the stock Powertools layer, deletes the winner’s record if the owner fails; a retry with the key then charges again', async () => {
    const plan = faultAt(STOCK_CALLS.charge, 'throttle');
    const world = stockWorld(tables, plan);
    const { rivalSaw } = await withRivalInTheMiddle(world, plan, STOCK_CALLS.charge);
    expect(answerOf(rivalSaw).status).toBe(201);
    expect(world.taken(request)).toBe(1);
    expect(answerOf(await world.attempt('replay', request)).body).not.toBe(answerOf(rivalSaw).body);
    expect(world.taken(request)).toBe(2);
  });

  test('with Payonce, releases nothing if it fails', async () => {
    const plan = faultAt(ENGINE_CALLS.charge, 'throttle');
    const world = engineWorld(tables, plan);
    const { firstSaw, rivalSaw } = await withRivalInTheMiddle(world, plan, ENGINE_CALLS.charge);
    expect(firstSaw.kind).toBe('unanswered');
    expect(answerOf(await world.attempt('replay', request))).toEqual(answerOf(rivalSaw));
    expect(await world.violations(request)).toEqual([]);
  });
});

describe('a declined payment that is retried with its key', () => {
  test('is approved with the stock Powertools layer, which deletes the record of the failure', async () => {
    const world = stockWorld(tables, new FaultPlan());
    await world.processor.inside.failNext(1, 'tok_declined');
    expect(answerOf(await world.attempt('first', request)).status).toBe(402);
    expect(answerOf(await world.attempt('retry', request)).status).toBe(201);
    expect(await world.violations(request)).toContain('I3: 2 different responses');
  });

  test('gets the same response in Payonce, and is not sent to the processor again', async () => {
    const world = engineWorld(tables, new FaultPlan());
    await world.processor.inside.failNext(1, 'tok_declined');
    const declined = answerOf(await world.attempt('first', request));
    expect(declined.status).toBe(402);
    expect(answerOf(await world.attempt('retry', request))).toEqual(declined);
    expect(world.processor.sends(request.paymentId)).toBe(1);
    expect(world.taken(request)).toBe(0);
  });
});

describe('a crashed process whose remaining invocation time is unknown to the layer', () => {
  test('locks its key for days with the stock Powertools layer', async () => {
    jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    const world = stockWorld(tables, faultAt(STOCK_CALLS.charge, 'crash_before'), { remainingTimeMs: 0 });
    await world.attempt('first', request);
    world.clock.advance(BEYOND_LEASE_MS);
    expect(await world.attempt('retry', request)).toEqual({ kind: 'refused', reason: 'in_progress' });
    world.clock.advance(SIX_DAYS_MS);
    expect(await world.attempt('late-retry', request)).toEqual({ kind: 'refused', reason: 'in_progress' });
    expect(world.taken(request)).toBe(0);
  });

  test('has a lease in Payonce that expires within seconds, regardless of the remaining time', async () => {
    const world = engineWorld(tables, faultAt(ENGINE_CALLS.charge, 'crash_before'));
    await world.attempt('first', request);
    world.clock.advance(BEYOND_LEASE_MS);
    expect(answerOf(await world.attempt('retry', request)).status).toBe(201);
    expect(await world.violations(request)).toEqual([]);
  });
});

describe('a claim that is written but whose response is lost', () => {
  test('makes the stock Powertools layer refuse a retry as in progress, although no request is running', async () => {
    const world = stockWorld(tables, faultAt(STOCK_CALLS.claim, 'ambiguous_applied'));
    expect((await world.attempt('first', request)).kind).toBe('unanswered');
    expect(await world.attempt('retry', request)).toEqual({ kind: 'refused', reason: 'in_progress' });
    expect(world.taken(request)).toBe(0);
  });

  test('is recognized in Payonce by its owner, and the same attempt continues', async () => {
    const world = engineWorld(tables, faultAt(ENGINE_CALLS.claim, 'ambiguous_applied'));
    expect(answerOf(await world.attempt('first', request)).status).toBe(201);
    expect(await world.violations(request)).toEqual([]);
  });
});
