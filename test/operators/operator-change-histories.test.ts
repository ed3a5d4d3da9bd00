import { describe, expect, test } from '@jest/globals';
import { defined } from '../../lambdas/kernel/defined.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import type { ApprovalRules } from '../../lambdas/operators/domain/approval.ts';
import { approve, reject } from '../../lambdas/operators/use/approve.ts';
import { changeByOperator } from '../../lambdas/operators/use/change-by-operator.ts';
import { changeIdOf } from '../../lambdas/payments/ids.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { beforeEachCall, type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { World } from '../world/world.ts';

const HOUR_MS = 3_600_000;
const BEN = { name: 'Ben Example', person: 'Ben Example', identity: 'key_ben' };
const LIMIT = { aboveMinor: { '*': 0 }, lifetimeMs: 72 * HOUR_MS };
/** A limit that one refund of 300 does not reach, and two such refunds exceed. */
const ABOVE_ONE = { aboveMinor: { '*': 500 }, lifetimeMs: 72 * HOUR_MS };

interface Asked {
  readonly key?: string;
  readonly amountMinor: number;
  /** @default no request waits for approval */
  readonly approvals?: ApprovalRules;
}

class History {
  readonly world: World;
  readonly request = paymentRequest('p', { amountMinor: 1000 });
  readonly answers = new Map<string, Set<string>>();

  constructor(faults: readonly PlannedFault[]) {
    this.world = new World({ plan: new FaultPlan(faults) });
  }

  /** @param waits whether the refund needs an approval */
  refund(name: string, waits: boolean) {
    return this.ask(name, { amountMinor: 700, ...(waits ? { approvals: LIMIT } : {}) }, 'request');
  }

  /** @param note the name under which the response is recorded */
  ask(name: string, { key = 'k', amountMinor, approvals }: Asked, note: string) {
    const { digest } = this.world.tools;
    const { paymentId } = this.request;
    return this.world.process(name, async (actor) => {
      const outcome = await changeByOperator(
        { ...this.world.toolsOf(actor), ...defined({ approvals }) },
        {
          kind: 'refund',
          operationId: changeIdOf(digest, 'refund', paymentId, [key]),
          requestId: storedOperationId(`chr_${key}`),
          paymentId,
          fingerprint: fingerprintOf(digest, { body: { amount: amountMinor }, query: {} }),
          amountMinor,
          reason: 'Asked by phone',
          by: OPERATOR,
          cause: BY_OPERATOR,
          receivedAtMs: this.world.clock.nowMs(),
        },
      );
      this.#note(note, outcome);
    });
  }

  give(name: string, verdict: typeof approve) {
    return this.world.process(name, async (actor) => {
      const [waiting] = await this.world.store.listApprovals({ limit: 1 });
      if (waiting === undefined) return;
      const asked = { id: waiting.id, by: BEN, cause: { ...BY_OPERATOR, operator: BEN.name } };
      this.#note(verdict.name, await verdict(this.world.toolsOf(actor), asked));
    });
  }

  #note(what: string, outcome: { readonly kind: string; readonly answer?: { readonly body: string } }): void {
    if (outcome.answer === undefined) return;
    this.answers.set(what, (this.answers.get(what) ?? new Set()).add(outcome.answer.body));
  }

  async violations(when: string): Promise<readonly string[]> {
    const { paymentId } = this.request;
    const { state, transitions } = await this.world.chain(this.request);
    const refunds = this.world.processor.charges(paymentId).flatMap((charge) => charge.refunds);
    const log = await this.world.store.moneyActivity.listActivity(state.payment, { order: 'oldest_first', limit: 9 });
    const begun = log.filter(({ action }) => action === 'refund.requested');
    const approvals = await this.world.store.listApprovals({ limit: 9 });
    const ended = approvals.filter(({ end }) => end?.verdict === 'approved');
    const found: string[] = [];
    if (refunds.length > 1 || state.refunds.size > 1) found.push('I1: two refunds');
    if (refunds.length > state.refunds.size) found.push('I1: a refund that the chain lacks');
    if (begun.length !== state.refunds.size) found.push('I4: the refund and its entry in the log differ');
    if (approvals.length > 1) found.push('I2: two approvals');
    if (approvals.length === 1 && ended.length !== state.refunds.size) found.push('I4: approval and refund differ');
    if (transitions.filter(({ type }) => type === 'refund.completed').length > 1)
      found.push('I2: two sets of postings');
    for (const [what, texts] of this.answers) if (texts.size > 1) found.push(`I3: ${what} has two answers`);
    if (this.answers.has('approve') && this.answers.has('reject')) found.push('I3: approved and rejected');
    return found.map((text) => `${when}: ${text}`);
  }
}

/**
 * Requests a refund, retries the request and, if `waits`, approves it. Then repeats the request and the approval
 * without faults. If `rivalAt` is given, a rival acts before the call with this number.
 */
async function runHistory(
  faults: readonly PlannedFault[],
  waits: boolean,
  race: { readonly rivalAt?: number } = {},
): Promise<HistoryRun> {
  const history = new History(faults);
  const { world } = history;
  await world.pay(history.request);
  const violations: string[] = [];
  const look = async (when: string) => violations.push(...(await history.violations(when)));
  world.plan.holdAt(race.rivalAt, async () => {
    await (waits ? history.give('rival', reject) : history.refund('rival', waits));
    await look('after the rival');
  });
  await history.refund('first', waits);
  await look('after the request');
  await history.refund('retry', waits);
  await look('after its retry');
  if (waits) {
    await history.give('ben', approve);
    await look('after the verdict');
  }
  const calls = world.plan.calm();
  world.clock.advance(60_000);
  await history.refund('calm', waits);
  if (waits) await history.give('calm', approve);
  await look('at the end');
  if (!history.answers.has('request')) violations.push('I7: the request has no answer');
  const { state } = await world.chain(history.request);
  const [approval] = await world.store.listApprovals({ limit: 1 });
  const isRejected = approval?.end?.verdict === 'rejected';
  if (!isRejected && [...state.refunds.values()][0]?.status !== 'succeeded') violations.push('I7: no refund');
  return { calls, violations };
}

/** Requests that a rival sends while a refund of 300 is requested, and the permitted final states. */
const RIVALS = {
  'the same request': { asked: { amountMinor: 300 }, ends: ['300 refunded'] },
  'a request with the same key and an amount above the limit': {
    asked: { amountMinor: 600 },
    ends: ['300 refunded', '600 waits'],
  },
  'a request with another key': {
    asked: { key: 'other', amountMinor: 300 },
    ends: ['300 refunded, 600 waits'],
  },
} as const;

/** Requests a refund of 300, with a rival before the call `rivalAt`. Then repeats both requests twice. */
async function runTwins(
  faults: readonly PlannedFault[],
  what: keyof typeof RIVALS,
  { rivalAt }: { readonly rivalAt?: number } = {},
): Promise<HistoryRun> {
  const history = new History(faults);
  const { world } = history;
  await world.pay(history.request);
  const { asked, ends } = RIVALS[what];
  const rival = { ...asked, approvals: ABOVE_ONE };
  const own = { amountMinor: 300, approvals: ABOVE_ONE };
  // Requests with the same key have the same response, whatever their amounts.
  const rivalNote = 'key' in rival ? 'other' : 'request';
  world.plan.holdAt(rivalAt, () => history.ask('rival', rival, rivalNote));
  await history.ask('first', own, 'request');
  const calls = world.plan.calm();
  for (let again = 0; again < 2; again += 1) {
    world.clock.advance(60_000);
    await history.ask('own', own, 'request');
    await history.ask('rival', rival, rivalNote);
  }
  const refunded = world.processor.charges(history.request.paymentId).flatMap((charge) => charge.refunds);
  const waiting = await world.store.listApprovals({ limit: 9 });
  const end = [
    ...refunded.map(({ amountMinor }) => `${amountMinor} refunded`),
    ...waiting.map(({ amountMinor }) => `${amountMinor} waits`),
  ].join(', ');
  const violations = ends.some((each) => each === end) ? [] : [`I2: ${end}`];
  for (const [note, texts] of history.answers) if (texts.size > 1) violations.push(`I3: ${note} has two answers`);
  return { calls, violations };
}

describe('an operator’s refund', () => {
  test.each(Object.keys(RIVALS) as readonly (keyof typeof RIVALS)[])(
    'is compared with the limit once despite a rival before any call and any single fault: %s',
    async (what) => {
      const { calls } = await runTwins([], what);
      const races = sliceOf(beforeEachCall(calls.length, [{}]), 3);
      const survey = await surveyFaults((faults, race) => runTwins(faults, what, race), {
        faults: 1,
        races,
        oneOf: 17,
      });
      expect(survey.findings.slice(0, 2)).toEqual([]);
      expect(survey.histories).toBeGreaterThan(whole(200, { slice: 4 }));
    },
  );

  test.each([false, true])(
    'takes effect once despite any single fault at any call (needs a second person: %p)',
    async (waits) => {
      const survey = await surveyFaults((faults) => runHistory(faults, waits), { faults: 1, oneOf: 7 });
      expect(survey.findings.slice(0, 2)).toEqual([]);
      expect(survey.histories).toBeGreaterThan(whole(50, { slice: 5 }));
    },
  );

  test.each([false, true])(
    'takes effect at most once despite a rival before any call and any single fault (needs a second person: %p)',
    async (waits) => {
      const { calls } = await runHistory([], waits);
      const races = sliceOf(beforeEachCall(calls.length, [{}]), 5);
      const survey = await surveyFaults((faults, race) => runHistory(faults, waits, race), {
        faults: 1,
        races,
        oneOf: 23,
      });
      expect(survey.findings.slice(0, 2)).toEqual([]);
      expect(survey.histories).toBeGreaterThan(whole(400, { slice: 4 }));
    },
  );
});
