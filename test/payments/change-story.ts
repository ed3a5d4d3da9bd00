import type { Answer } from '../../lambdas/kernel/answer.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { isUnderWay } from '../../lambdas/payments/domain/change.ts';
import { assertBalanced, netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import type { ChangePayment } from '../../lambdas/payments/use/change-payment.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { UnfinishedWork } from '../../lambdas/payments/use/unfinished-work.ts';
import { resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import type { Story } from '../support/fault-histories.ts';
import { FaultPlan } from '../support/fault-plan.ts';
import { World, type WorldOptions } from '../world/world.ts';
import { BEYOND_LEASE_MS, everyRace, type Race } from './payment-story.ts';

export interface ChangeSubject {
  readonly payment: CreatePayment;
  readonly change: ChangePayment;
  /** The rival's concurrent change. @default the same change */
  readonly rival?: ChangePayment;
  /**
   * Changes made earlier. With earlier changes, the change under test is decided from the sums in the newest
   * transition.
   * @default none
   */
  readonly earlier?: readonly ChangePayment[];
  /** @default stores in memory */
  readonly stores?: Pick<WorldOptions, 'store' | 'storeFor'>;
}

class ChangeWorld extends World {
  readonly answers = new Map<string, Set<string>>();
  readonly #subject: ChangeSubject;

  constructor(subject: ChangeSubject, plan: FaultPlan) {
    super({ ...subject.stores, plan });
    this.#subject = subject;
  }

  async attempt(name: string, asked: ChangePayment): Promise<Answer | undefined> {
    const ended = await this.process(name, (actor) => {
      const { store, effects, processor } = this.toolsOf(actor);
      return this.change(asked, { store, effects, processor });
    });
    if ('error' in ended || (ended.result.kind !== 'first' && ended.result.kind !== 'replay')) return undefined;
    const { answer } = ended.result;
    const seen = this.answers.get(asked.operationId) ?? new Set();
    this.answers.set(asked.operationId, seen.add(JSON.stringify(answer)));
    return answer;
  }

  /** Covers this payment only, because other payments share the queues. */
  async findOut(): Promise<void> {
    const { work, ...tools } = this.tools;
    const { paymentId } = this.#subject.payment;
    const own: UnfinishedWork = {
      staleClaims: (due) => work.staleClaims(due),
      postponeClaim: (...next) => work.postponeClaim(...next),
      unknownOutcomes: async (due) =>
        (await work.unknownOutcomes(due)).filter((inquiry) => inquiry.paymentId === paymentId),
      routineInquiries: async (due) =>
        (await work.routineInquiries(due)).filter((inquiry) => inquiry.paymentId === paymentId),
      undetermined: (limit) => work.undetermined(limit),
      closeInquiry: (inquiry) => work.closeInquiry(inquiry),
      postponeInquiry: (...next) => work.postponeInquiry(...next),
      chargesToReturn: (due) => work.chargesToReturn(due),
      closeReturn: (charge) => work.closeReturn(charge),
      postponeReturn: (...next) => work.postponeReturn(...next),
    };
    await resolveInquiries({ ...tools, work: own });
  }

  async violations(quiet: boolean): Promise<readonly string[]> {
    const { payment } = this.#subject;
    const { transitions, state } = await this.chain(payment);
    const found: string[] = [];
    const refunded = this.refundedAtProcessor(payment);
    const captured = this.capturedAtProcessor(payment);
    const postings = transitions.flatMap((transition) => transition.postings);
    for (const transition of transitions) assertBalanced(transition.postings);
    const { currency } = payment;
    if (refunded > captured) found.push(`I1: ${refunded} refunded of ${captured} captured`);
    if (netDebitMinor('refunds', currency, postings) > refunded) found.push('I2: more is posted than was refunded');
    if (-netDebitMinor('merchant_payable', currency, postings) > captured)
      found.push('I2: more is posted than was captured');
    if ([...this.answers.values()].some((answers) => answers.size > 1))
      found.push('I3: different responses for one key');
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the hash chain does not verify');
    if (!quiet) return found;
    if (netDebitMinor('processor_clearing', currency, postings) !== captured - refunded) {
      found.push('without faults, the books differ from the processor’s');
    }
    const open = [...state.refunds.values(), ...state.holdChanges.values()].filter((each) => isUnderWay(each, state));
    if (open.length > 0) found.push('I7: a reservation is never freed');
    return found;
  }
}

export function changeStory(make: () => ChangeSubject): Story<Race> {
  return async (faults, { rivalAt, leaseEnded }) => {
    const subject = make();
    const plan = new FaultPlan(faults);
    const world = new ChangeWorld(subject, plan);
    await world.pay(subject.payment);
    for (const each of subject.earlier ?? []) await world.change(each);
    const violations: string[] = [];
    const look = async (when: string, quiet = false): Promise<void> => {
      violations.push(...(await world.violations(quiet)).map((violation) => `${when}: ${violation}`));
    };
    const { change, rival = change } = subject;
    plan.holdAt(rivalAt, async () => {
      if (leaseEnded === true) world.clock.advance(BEYOND_LEASE_MS);
      await world.attempt('rival', rival);
      await look('after the rival');
    });
    await world.attempt('first', change);
    await look('after the first attempt');
    world.clock.advance(BEYOND_LEASE_MS);
    await world.attempt('retry', change);
    await look('after the retry');
    const calls = plan.calm();
    for (const each of new Set([change, rival])) {
      for (let round = 0; round < 3; round += 1) {
        if ((await world.attempt(`settler-${round}`, each)) !== undefined) break;
        world.clock.advance(30_000);
      }
    }
    await world.findOut();
    await look('without faults', true);
    return { calls, violations };
  };
}

/**
 * One race without a rival, and two races for each call of a change: readEnds, readNotes (not for a refund), claim,
 * showCharge, change, commit.
 */
export const CHANGE_RACES = everyRace(6);
