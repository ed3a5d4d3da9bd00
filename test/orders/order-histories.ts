import pMap from 'p-map';
import type { Answer } from '../../lambdas/kernel/answer.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { CreateOrder } from '../../lambdas/orders/use/create-order.ts';
import { everyNth } from '../support/fault-histories.ts';
import { Actor, Crash, FAULT_KINDS, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import type { World } from '../world/world.ts';

/** Who makes orders, and who finishes them: the engine, or what it is compared with. */
export interface OrderSubject {
  readonly harness: World;
  readonly request: CreateOrder;
  /** How the order ends when nothing goes wrong. */
  readonly ends: 'fulfilled' | 'undone';
  /** One process takes the request. @returns undefined when it was not answered for good */
  handle(actor: Actor): Promise<Answer | undefined>;
  /** One process finishes what others have left. */
  finish(actor: Actor): Promise<void>;
  /** Further promises; in quiet, whether anything was left open. */
  more(quiet: boolean): Promise<readonly string[]>;
}

interface Race {
  /** A rival acts right before this call. */
  readonly rivalAt?: number;
  /** @default the resolver */
  readonly rival?: 'client' | 'resolver';
  /** Whether the lease of the first attempt has ended when the rival comes. */
  readonly leaseEnded?: boolean;
  /** The client never asks again. */
  readonly clientLeaves?: boolean;
}

interface History extends Race {
  readonly faults: readonly PlannedFault[];
}

interface Finding {
  readonly history: History;
  readonly calls: readonly string[];
  readonly violations: readonly string[];
}

const BEYOND_LEASE_MS = 26_000;
const MINUTE_MS = 60_000;
/** Two runs that finish, and one that finds nothing. */
const QUIET_MINUTES = 3;
/** After this it is proven that a charge was never begun. */
const LEFT_MINUTES = 46;

class OrderHistory {
  readonly #subject: OrderSubject;
  readonly #plan: FaultPlan;
  readonly #history: History;
  readonly #answers = new Set<string>();
  readonly #violations: string[] = [];

  constructor(subject: OrderSubject, history: History) {
    this.#subject = subject;
    this.#history = history;
    this.#plan = new FaultPlan(history.faults);
  }

  /** First attempt with its rival, the client's retry, a run of the resolver; then quiet. */
  async run(): Promise<Finding> {
    const { harness } = this.#subject;
    const { rivalAt, rival = 'resolver', leaseEnded, clientLeaves } = this.#history;
    if (rivalAt !== undefined) {
      this.#plan.interruption = {
        point: rivalAt,
        act: async () => {
          if (leaseEnded === true) harness.clock.advance(BEYOND_LEASE_MS);
          await (rival === 'client' ? this.#ask('rival') : this.#finish('rival'));
          await this.#look('after the rival');
        },
      };
    }
    await this.#ask('first');
    await this.#look('after the first attempt');
    harness.clock.advance(BEYOND_LEASE_MS);
    if (clientLeaves !== true) await this.#ask('retry');
    await this.#look('after the retry');
    harness.clock.advance(MINUTE_MS);
    await this.#finish('resolver');
    await this.#look('after the resolver');
    const calls = [...this.#plan.calls];
    await this.#quiet();
    return { history: this.#history, calls, violations: this.#violations };
  }

  async #quiet(): Promise<void> {
    this.#plan.active = false;
    const { harness } = this.#subject;
    if (this.#history.clientLeaves === true) harness.clock.advance(LEFT_MINUTES * MINUTE_MS);
    else await this.#ask('settler');
    for (let minute = 0; minute < QUIET_MINUTES; minute += 1) {
      harness.clock.advance(MINUTE_MS);
      await this.#finish(`resolver-${minute}`);
    }
    await this.#look('in quiet', true);
  }

  async #ask(name: string): Promise<void> {
    const answer = await this.#process(name, (actor) => this.#subject.handle(actor));
    if (answer !== undefined) this.#answers.add(JSON.stringify(answer));
  }

  async #finish(name: string): Promise<void> {
    await this.#process(name, (actor) => this.#subject.finish(actor));
  }

  /** One process, which may die of it. @throws what is neither a fault nor a crash: a bug */
  async #process<Result>(name: string, run: (actor: Actor) => Promise<Result>): Promise<Result | undefined> {
    const actor = new Actor(name, this.#plan);
    try {
      return await run(actor);
    } catch (error) {
      const known = error instanceof RetryableError || error instanceof AmbiguousError || error instanceof Crash;
      if (known || actor.crashed) return undefined;
      throw error;
    }
  }

  async #look(when: string, quiet = false): Promise<void> {
    const found = [...(await this.#counted(quiet)), ...(await this.#subject.more(quiet))];
    if (this.#answers.size > 1) found.push(`I3: ${this.#answers.size} different answers`);
    this.#violations.push(...found.map((violation) => `${when}: ${violation}`));
  }

  /** Every effect, as its owner counts it. */
  async #counted(quiet: boolean): Promise<readonly string[]> {
    const { harness, request, ends } = this.#subject;
    const { orderId, amountMinor } = request;
    const counts = {
      charges: harness.charges(request),
      reservations: await harness.shop.reservations(orderId),
      letters: harness.mailer.outbox.length,
      credits: await harness.shop.credits(orderId),
    };
    const found = Object.entries(counts).flatMap(([what, count]) => (count > 1 ? [`I1: ${count} ${what}`] : []));
    const kept = harness.keptMinor(request);
    const reserved = await harness.shop.reserved(orderId);
    if (kept < 0) found.push('I1: more was given back than was taken');
    const { letters, credits } = counts;
    const fulfilled = kept === amountMinor && reserved === 1;
    const undone = kept === 0 && reserved === 0 && letters === 0 && credits === 0;
    for (const text of this.#answers) {
      const { status } = JSON.parse(text) as Answer;
      if (status === 201 && !fulfilled) found.push('I4: answered 201 without money or goods');
      if ((status === 402 || status === 409) && !undone)
        found.push('I4: answered that nothing is left, and something is');
    }
    if (!quiet) return found;
    // A client that has left is not charged later than the send window allows.
    const mayHaveLeft = this.#history.clientLeaves === true && undone;
    const complete = fulfilled && letters === 1 && credits === 1;
    if (!(ends === 'fulfilled' ? complete || mayHaveLeft : undone)) {
      found.push(`neither settled nor undone: ${JSON.stringify({ ...counts, kept, reserved })}`);
    }
    return found;
  }
}

export interface OrderSurvey {
  readonly histories: number;
  readonly findings: readonly Finding[];
}

/** No rival, with a client that asks again and with one that leaves. */
export const UNRIVALLED: readonly Race[] = [{}, { clientLeaves: true }];

/**
 * A rival before each of the first `calls` calls: the resolver, which takes over when the lease has ended as a client's retry
 * would, and a client that comes while it is running.
 */
export function rivalled(calls: number): readonly Race[] {
  return Array.from({ length: calls }, (_, index) => index + 1).flatMap((rivalAt) => [
    { rivalAt, rival: 'resolver', leaseEnded: true },
    { rivalAt, rival: 'client', leaseEnded: false },
  ]);
}

interface SurveyOptions {
  readonly faults: number;
  readonly races: readonly Race[];
  /** Of the histories with the most faults, one of so many is run, evenly spread. @default 1: every one */
  readonly oneOf?: number;
}

/** Every history with up to `faults` faults: each call of each run is struck with each kind, and what that brings about in turn. */
export async function surveyOrders(
  make: () => OrderSubject | Promise<OrderSubject>,
  { faults, races, oneOf = 1 }: SurveyOptions,
): Promise<OrderSurvey> {
  const findings: Finding[] = [];
  let histories = 0;
  let generation: readonly History[] = races.map((race) => ({ ...race, faults: [] }));
  for (let count = 0; count <= faults; count += 1) {
    const part = count === faults ? everyNth(generation, oneOf) : generation;
    const runs = await pMap(part, async (history) => new OrderHistory(await make(), history).run(), {
      concurrency: 1,
    });
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

/** The promises that were broken, each once. */
export function brokenOrderPromises({ findings }: OrderSurvey): readonly string[] {
  const promises = findings.flatMap(({ violations }) =>
    violations.map((text) => /\bI\d: .*|neither settled/.exec(text)?.[0] ?? text),
  );
  return [...new Set(promises)].sort();
}

/** How many calls the first attempt makes when nothing goes wrong. */
export async function callsOf(make: () => OrderSubject): Promise<number> {
  const plan = new FaultPlan();
  await make().handle(new Actor('first', plan));
  return plan.calls.length;
}
