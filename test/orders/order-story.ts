import type { Answer } from '../../lambdas/kernel/answer.ts';
import type { CreateOrder } from '../../lambdas/orders/use/create-order.ts';
import { BEYOND_LEASE_MS } from '../payments/payment-story.ts';
import {
  beforeEachCall,
  type HistoryRun,
  type HistorySurvey,
  type Story,
  violatedGuarantees,
} from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import type { World } from '../world/world.ts';

/** Implemented by the engine and by variants that are compared with the engine. */
export interface OrderSubject {
  readonly harness: World;
  readonly request: CreateOrder;
  /** Expected final state of the order without faults. */
  readonly ends: 'fulfilled' | 'undone';
  /** @returns the final response, or undefined if there is none */
  handle(actor: Actor): Promise<Answer | undefined>;
  finish(actor: Actor): Promise<void>;
  /** Lists violations of additional guarantees, including open work if `quiet` is true. */
  more(quiet: boolean): Promise<readonly string[]>;
}

interface Race {
  /**
   * The rival acts immediately before this call of the first attempt. Calls are numbered from 1. @default no rival acts
   */
  readonly rivalAt?: number;
  /**
   * Process that acts as the rival.
   * @default the resolver
   */
  readonly rival?: 'client' | 'resolver';
  /** Whether the lease of the first attempt has expired when the rival acts. */
  readonly leaseEnded?: boolean;
  /** Whether the client never retries. */
  readonly clientLeaves?: boolean;
}

const MINUTE_MS = 60_000;
/** Two runs finish the work, and one finds none. */
const QUIET_MINUTES = 3;
/** Minutes after which it is proven that a charge never began. */
const LEFT_MINUTES = 46;

class OrderHistory {
  readonly #subject: OrderSubject;
  readonly #plan: FaultPlan;
  readonly #race: Race;
  readonly #answers = new Set<string>();
  readonly #violations: string[] = [];

  constructor(subject: OrderSubject, faults: readonly PlannedFault[], race: Race) {
    this.#subject = subject;
    this.#race = race;
    this.#plan = new FaultPlan(faults);
  }

  async run(): Promise<HistoryRun> {
    const { harness } = this.#subject;
    const { rivalAt, rival = 'resolver', leaseEnded, clientLeaves } = this.#race;
    this.#plan.holdAt(rivalAt, async () => {
      if (leaseEnded === true) harness.clock.advance(BEYOND_LEASE_MS);
      await (rival === 'client' ? this.#ask('rival') : this.#finish('rival'));
      await this.#look('after the rival');
    });
    await this.#ask('first');
    await this.#look('after the first attempt');
    harness.clock.advance(BEYOND_LEASE_MS);
    if (clientLeaves !== true) await this.#ask('retry');
    await this.#look('after the retry');
    harness.clock.advance(MINUTE_MS);
    await this.#finish('resolver');
    await this.#look('after the resolver');
    const calls = this.#plan.calm();
    await this.#quiet();
    return { calls, violations: this.#violations };
  }

  async #quiet(): Promise<void> {
    const { harness } = this.#subject;
    if (this.#race.clientLeaves === true) harness.clock.advance(LEFT_MINUTES * MINUTE_MS);
    else await this.#ask('settler');
    for (let minute = 0; minute < QUIET_MINUTES; minute += 1) {
      harness.clock.advance(MINUTE_MS);
      await this.#finish(`resolver-${minute}`);
    }
    await this.#look('without faults', true);
  }

  async #ask(name: string): Promise<void> {
    const answer = await this.#process(name, (actor) => this.#subject.handle(actor));
    if (answer !== undefined) this.#answers.add(JSON.stringify(answer));
  }

  async #finish(name: string): Promise<void> {
    await this.#process(name, (actor) => this.#subject.finish(actor));
  }

  async #process<Result>(name: string, run: (actor: Actor) => Promise<Result>): Promise<Result | undefined> {
    const actor = new Actor(name, this.#plan);
    const ended = await actor.run(() => run(actor));
    return 'result' in ended ? ended.result : undefined;
  }

  async #look(when: string, quiet = false): Promise<void> {
    const found = [...(await this.#counted(quiet)), ...(await this.#subject.more(quiet))];
    if (this.#answers.size > 1) found.push(`I3: ${this.#answers.size} different responses`);
    this.#violations.push(...found.map((violation) => `${when}: ${violation}`));
  }

  async #counted(quiet: boolean): Promise<readonly string[]> {
    const { harness, request, ends } = this.#subject;
    const { orderId, amountMinor } = request;
    const counts = {
      charges: harness.charges(request),
      reservations: await harness.shop.reservations(orderId),
      emails: harness.mailer.outbox.length,
      credits: await harness.shop.credits(orderId),
    };
    const found = Object.entries(counts).flatMap(([what, count]) => (count > 1 ? [`I1: ${count} ${what}`] : []));
    const kept = harness.keptMinor(request);
    const reserved = await harness.shop.reserved(orderId);
    if (kept < 0) found.push('I1: more was refunded than charged');
    const { emails, credits } = counts;
    const fulfilled = kept === amountMinor && reserved === 1;
    const undone = kept === 0 && reserved === 0 && emails === 0 && credits === 0;
    for (const text of this.#answers) {
      const { status } = JSON.parse(text) as Answer;
      if (status === 201 && !fulfilled) found.push('I4: returned 201 without money or goods');
      if ((status === 402 || status === 409) && !undone)
        found.push('I4: responded that nothing is charged or reserved, but something is');
    }
    if (!quiet) return found;
    // If the client never retries, the order may also be undone: no charge is sent after the send window.
    const mayHaveLeft = this.#race.clientLeaves === true && undone;
    const complete = fulfilled && emails === 1 && credits === 1;
    if (!(ends === 'fulfilled' ? complete || mayHaveLeft : undone)) {
      found.push(`neither settled nor undone: ${JSON.stringify({ ...counts, kept, reserved })}`);
    }
    return found;
  }
}

export const RACES_WITHOUT_RIVAL: readonly Race[] = [{}, { clientLeaves: true }];

/**
 * In one race, the resolver acts after the lease expired, and takes over like a client's retry. In the other, a client
 * acts during the lease.
 */
export function racesBeforeEachCall(calls: number): readonly Race[] {
  return beforeEachCall(calls, [
    { rival: 'resolver', leaseEnded: true },
    { rival: 'client', leaseEnded: false },
  ] as const);
}

export function orderStory(make: () => OrderSubject | Promise<OrderSubject>): Story<Race> {
  return async (faults, race) => new OrderHistory(await make(), faults, race).run();
}

export function violatedOrderGuarantees(survey: HistorySurvey): readonly string[] {
  return violatedGuarantees(survey, /\bI\d: .*|neither settled/);
}

export async function callsOf(make: () => OrderSubject): Promise<number> {
  const plan = new FaultPlan();
  await make().handle(new Actor('first', plan));
  return plan.calls.length;
}
