/** Tests the guarantee "confirmed decisions". */
import { describe, expect, test } from '@jest/globals';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import type { Approval } from '../../lambdas/operators/domain/approval.ts';
import { approve, reject } from '../../lambdas/operators/use/approve.ts';
import { correctLedger } from '../../lambdas/operators/use/correct-ledger.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { beforeEachCall, type HistoryRun, surveyFaults, violatedGuarantees } from '../support/fault-histories.ts';
import type { Ended, PlannedFault } from '../support/fault-plan.ts';
import { FaultPlan } from '../support/fault-plan.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { World } from '../world/world.ts';

const HOUR_MS = 3_600_000;
const LIFETIME_MS = 72 * HOUR_MS;
const person = (name: string) => ({ name, person: name, identity: `key_${name}` });
const BEN = person('Ben Example');
const CARL = person('Carl Example');

type Verdict = typeof approve;

/** Actions that a rival performs immediately before a call of the first verdict. */
const RIVALS: Readonly<Record<string, Rival>> = {
  'the approval of another person': (history) => history.give('rival', approve, CARL),
  'the rejection of another person': (history) => history.give('rival', reject, CARL),
  'the approval of the requester': (history) => history.give('rival', approve, OPERATOR),
  'the expiry': async ({ world }) => world.clock.advance(LIFETIME_MS),
  'another correction that reverses the same transition': (history) => history.correct('rival', 'other', false),
};
type Rival = (history: History) => Promise<unknown>;

class History {
  readonly world: World;
  readonly request = paymentRequest('p', { amountMinor: 1000 });
  readonly answers = new Map<string, Set<string>>();
  #id = '';

  constructor(faults: readonly PlannedFault[]) {
    this.world = new World({ plan: new FaultPlan(faults) });
  }

  /** @param waits whether the amount is above the limit and needs approval */
  correct(name: string, key: string, waits = true) {
    const { digest } = this.world.tools;
    return this.world.process(name, async (actor) => {
      const tools = { ...this.world.toolsOf(actor), ...(waits ? { approvals: LIMIT } : {}) };
      const outcome = await correctLedger(tools, {
        cause: BY_OPERATOR,
        by: OPERATOR,
        operationId: storedOperationId(`cor_${key}`),
        fingerprint: fingerprintOf(digest, { body: {}, query: {} }),
        payment: this.request.paymentId,
        reason: 'Booked twice',
        asked: { kind: 'correction', change: { kind: 'reverse', sequence: 2 } },
      });
      this.#note(`request ${key}`, outcome);
    });
  }

  async give(name: string, verdict: Verdict, by: typeof BEN | typeof OPERATOR): Promise<Ended<unknown>> {
    return this.world.process(name, async (actor) => {
      const cause = { ...BY_OPERATOR, operator: by.name };
      const outcome = await verdict(this.world.toolsOf(actor), { id: this.#id, by, cause });
      this.#note(verdict.name, outcome);
    });
  }

  #note(what: string, outcome: { readonly kind: string; readonly answer?: { readonly body: string } }): void {
    if (outcome.answer === undefined) return;
    this.answers.set(what, (this.answers.get(what) ?? new Set()).add(outcome.answer.body));
  }

  async find(): Promise<readonly Approval[]> {
    const found = await this.world.store.listApprovals({ limit: 9 });
    this.#id = found[0]?.id ?? '';
    return found;
  }

  async violations(when: string): Promise<readonly string[]> {
    const approvals = await this.find();
    const { transitions } = await this.world.chain(this.request);
    const made = transitions.filter(({ subject }) => subject?.kind === 'correction');
    const found: string[] = [];
    for (const { operationId, end, askedBy } of approvals) {
      const own = made.filter(({ subject }) => subject?.kind === 'correction' && subject.correctionId === operationId);
      if (own.length > 1) found.push('I2: the correction was made twice');
      if ((end?.verdict === 'approved') !== (own.length === 1)) found.push('I4: the approval and the Ledger differ');
      if (end?.by.name === askedBy.name) found.push('the requester has decided');
    }
    if (approvals.length > 1) found.push('I2: one request has two approvals');
    if (made.length > 1) found.push('I2: one set was reversed twice');
    for (const [what, answers] of this.answers) if (answers.size > 1) found.push(`I3: ${what} has two answers`);
    if (this.answers.has('approve') && this.answers.has('reject')) found.push('I3: approved and rejected');
    return found.map((text) => `${when}: ${text}`);
  }
}

const LIMIT = { aboveMinor: { '*': 0 }, lifetimeMs: LIFETIME_MS };

/**
 * Runs, in this order: a request and its retry, a verdict with a rival, the retry of the verdict, and finally the
 * request and the verdict once more, without faults.
 */
async function runHistory(
  faults: readonly PlannedFault[],
  verdict: Verdict,
  rivalAt?: number,
  rival?: Rival,
): Promise<HistoryRun> {
  const history = new History(faults);
  const { world } = history;
  await world.pay(history.request);
  const violations: string[] = [];
  const look = async (when: string) => violations.push(...(await history.violations(when)));
  await history.correct('first', 'k');
  await history.correct('retry', 'k');
  await look('after the request');
  world.plan.holdAt(rivalAt, async () => {
    await rival?.(history);
    await look('after the rival');
  });
  await history.give('ben', verdict, BEN);
  await look('after the verdict');
  await history.give('ben again', verdict, BEN);
  await look('after its retry');
  const calls = world.plan.calm();
  await history.correct('calm', 'k');
  await look('after the fault-free request');
  await history.give('calm', verdict, BEN);
  await look('at the end');
  const [approval] = await history.find();
  if (approval === undefined) violations.push('I7: the request has no approval');
  return { calls, violations };
}

describe('a request that waits for a second person', () => {
  test.each([approve, reject])(
    'takes effect at most once despite any single fault at any call, with the verdict %p',
    async (verdict) => {
      const { histories, findings } = await surveyFaults((faults) => runHistory(faults, verdict), {
        faults: 1,
        oneOf: 7,
      });
      expect(findings.slice(0, 2)).toEqual([]);
      expect(histories).toBeGreaterThan(whole(50, { slice: 5 }));
    },
  );

  test.each(Object.entries(RIVALS))(
    'takes effect at most once when approved, despite any single fault combined with %s before any call',
    async (_name, rival) => {
      const { calls } = await runHistory([], approve);
      const { histories, findings } = await surveyFaults(
        (faults, { rivalAt }) => runHistory(faults, approve, rivalAt, rival),
        { faults: 1, races: sliceOf(beforeEachCall(calls.length, [{}]), 5), oneOf: 17 },
      );
      expect(findings.slice(0, 2)).toEqual([]);
      expect(histories).toBeGreaterThan(whole(400, { slice: 4 }));
    },
  );
});

test('these histories detect an approval that writes its effect and its completion separately', async () => {
  const apart: Verdict = async (tools, verdict) => {
    const { effects } = tools;
    const split = {
      ...effects,
      recordEffect: async ({ ended, ...effect }: Parameters<typeof effects.recordEffect>[0]) => {
        const outcome = await effects.recordEffect(effect);
        if (ended !== undefined) await effects.readEffect(effect.record.operationId);
        return outcome;
      },
    };
    return approve({ ...tools, effects: split }, verdict);
  };
  const survey = await surveyFaults((faults) => runHistory(faults, apart), { faults: 0 });
  expect(violatedGuarantees(survey)).toContain('I4');
});
