import pMap from 'p-map';
import type { Answer } from '../../lambdas/kernel/answer.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { isUnderWay } from '../../lambdas/payments/domain/change.ts';
import { assertBalanced, netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import type { ChangePayment } from '../../lambdas/payments/use/change-payment.ts';

import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';

import type { UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { everyNth } from '../support/fault-histories.ts';
import { Crash, FAULT_KINDS, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { World, type WorldOptions } from '../world/world.ts';

export interface ChangeSubject {
  readonly payment: CreatePayment;
  readonly change: ChangePayment;
  /** What a rival asks for at the same time; the same change when it is left out. */
  readonly rival?: ChangePayment;
  /** @default in memory */
  readonly stores?: Pick<WorldOptions, 'store' | 'storeFor'>;
}

const BEYOND_LEASE_MS = 26_000;

/** A payment whose charge is there, and processes that change it. */
class ChangeWorld extends World {
  readonly answers = new Map<string, Set<string>>();
  readonly #subject: ChangeSubject;

  constructor(subject: ChangeSubject, plan: FaultPlan) {
    super({ ...subject.stores, plan });
    this.#subject = subject;
  }

  /** One process takes the change, and may die of it. */
  async attempt(name: string, asked: ChangePayment): Promise<Answer | undefined> {
    const actor = this.actor(name);
    const { store, effects, processor } = this.toolsOf(actor);
    try {
      const outcome = await this.change(asked, { store, effects, processor });
      if (outcome.kind !== 'first' && outcome.kind !== 'replay') return undefined;
      const seen = this.answers.get(asked.operationId) ?? new Set();
      this.answers.set(asked.operationId, seen.add(JSON.stringify(outcome.answer)));
      return outcome.answer;
    } catch (error) {
      const known = error instanceof RetryableError || error instanceof AmbiguousError || error instanceof Crash;
      if (known || actor.crashed) return undefined;
      throw error;
    }
  }

  /** What was answered "not known yet" is found out by the resolver; of this payment alone, as others share the queues. */
  async findOut(): Promise<void> {
    const { work, ...tools } = this.tools;
    const { paymentId } = this.#subject.payment;
    const own: UnfinishedWork = {
      staleClaims: (nowMs, limit) => work.staleClaims(nowMs, limit),
      inquiries: async (limit) => (await work.inquiries(limit)).filter((inquiry) => inquiry.paymentId === paymentId),
      closeInquiry: (inquiry) => work.closeInquiry(inquiry),
      markInquiry: (...marked) => work.markInquiry(...marked),
      chargesToReturn: (limit) => work.chargesToReturn(limit),
      closeReturn: (charge) => work.closeReturn(charge),
    };
    await resolveInquiries({ ...tools, work: own });
  }

  async violations(quiet: boolean): Promise<readonly string[]> {
    const { payment } = this.#subject;
    const { transitions, state } = await this.chain(payment);
    const found: string[] = [];
    const [charge] = this.processor.charges(payment.paymentId);
    const refunded = (charge?.refunds ?? [])
      .filter(({ status }) => status === 'succeeded')
      .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
    const captured = charge?.capturedMinor ?? 0;
    const postings = transitions.flatMap((transition) => transition.postings);
    for (const transition of transitions) assertBalanced(transition.postings);
    const { currency } = payment;
    if (refunded > captured) found.push(`I1: ${refunded} given back of ${captured}`);
    if (netDebitMinor('refunds', currency, postings) > refunded) found.push('I2: more is posted than was given back');
    if (-netDebitMinor('merchant_payable', currency, postings) > captured)
      found.push('I2: more is posted than captured');
    if ([...this.answers.values()].some((answers) => answers.size > 1)) found.push('I3: different answers');
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the chain is broken');
    if (!quiet) return found;
    if (netDebitMinor('processor_clearing', currency, postings) !== captured - refunded) {
      found.push('in quiet, the books differ from the processor’s');
    }
    const open = [...state.refunds.values(), ...state.holdChanges.values()].filter((each) => isUnderWay(each, state));
    if (open.length > 0) found.push('I7: a reservation is never freed');
    return found;
  }
}

interface History {
  readonly faults: readonly PlannedFault[];
  /** A rival acts right before this call; with its own change, or the same one. */
  readonly rivalAt?: number;
  readonly leaseEnded?: boolean;
}

interface Finding {
  readonly history: History;
  readonly calls: readonly string[];
  readonly violations: readonly string[];
}

async function runHistory(make: () => ChangeSubject, history: History): Promise<Finding> {
  const subject = make();
  const plan = new FaultPlan(history.faults);
  const world = new ChangeWorld(subject, plan);
  await world.pay(subject.payment);
  const violations: string[] = [];
  const look = async (when: string, quiet = false): Promise<void> => {
    violations.push(...(await world.violations(quiet)).map((violation) => `${when}: ${violation}`));
  };
  const { change, rival = change } = subject;
  if (history.rivalAt !== undefined) {
    plan.interruption = {
      point: history.rivalAt,
      act: async () => {
        if (history.leaseEnded === true) world.clock.advance(BEYOND_LEASE_MS);
        await world.attempt('rival', rival);
        await look('after the rival');
      },
    };
  }
  await world.attempt('first', change);
  await look('after the first attempt');
  world.clock.advance(BEYOND_LEASE_MS);
  await world.attempt('retry', change);
  await look('after the retry');
  const calls = [...plan.calls];
  plan.active = false;
  for (const each of new Set([change, rival])) {
    for (let round = 0; round < 3; round += 1) {
      if ((await world.attempt(`settler-${round}`, each)) !== undefined) break;
      world.clock.advance(30_000);
    }
  }
  await world.findOut();
  await look('in quiet', true);
  return { history, calls, violations };
}

/** readChain, claim, showCharge, change, commit. */
const CALLS = 5;
const EVERY_RACE: readonly History[] = [
  { faults: [] },
  ...Array.from({ length: CALLS }, (_, index) => index + 1).flatMap((rivalAt) => [
    { faults: [], rivalAt, leaseEnded: false },
    { faults: [], rivalAt, leaseEnded: true },
  ]),
];

/** Every history with up to `faults` faults at any calls, alone and with a rival before each call of the first attempt. */
export async function surveyChanges(
  make: () => ChangeSubject,
  {
    faults,
    concurrency = 1,
    oneOf = 1,
  }: {
    readonly faults: number;
    readonly concurrency?: number;
    /** Of the histories with the most faults, one of so many. */
    readonly oneOf?: number;
  },
): Promise<{ readonly histories: number; readonly findings: readonly Finding[] }> {
  const findings: Finding[] = [];
  let histories = 0;
  let generation = EVERY_RACE;
  for (let count = 0; count <= faults; count += 1) {
    const part = count === faults ? everyNth(generation, oneOf) : generation;
    const runs = await pMap(part, (history) => runHistory(make, history), { concurrency });
    histories += runs.length;
    findings.push(...runs.filter(({ violations }) => violations.length > 0));
    generation = runs.flatMap(({ history, calls }) => {
      const struck = history.faults.at(-1)?.point ?? 0;
      const points = calls.map((_, index) => index + 1).filter((point) => point > struck);
      return points.flatMap((point) =>
        FAULT_KINDS.map((kind) => ({ ...history, faults: [...history.faults, { point, kind }] })),
      );
    });
  }
  return { histories, findings };
}
