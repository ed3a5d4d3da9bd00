import type { Answer } from '../../lambdas/kernel/answer.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import {
  createSandboxInProcess,
  type SandboxInProcess,
  type SandboxInProcessOptions,
} from '../world/sandbox-in-process.ts';
import { Actor, Crash, type FaultPlan } from './fault-plan.ts';
import { SimulatedClock } from './simulated-clock.ts';

/** What one attempt came to, as a client sees it. */
export type Seen =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** 409 or 422: no stored answer, and the engine's own word for it. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** 503, or no answer at all. */
  | { readonly kind: 'unanswered'; readonly error: Error };

/** One processor, one clock, one store, and processes that come and go; what a process runs is the subclass's affair. */
export abstract class World {
  readonly clock = new SimulatedClock();
  readonly processor: SandboxInProcess;
  /** Every answer that a client was given. */
  readonly answers: Answer[] = [];
  readonly #plan: FaultPlan;

  constructor(plan: FaultPlan, options: Omit<SandboxInProcessOptions, 'clock'> = {}) {
    this.#plan = plan;
    this.processor = createSandboxInProcess({ clock: this.clock, ...options });
  }

  /** One process handles the request. */
  protected abstract handle(actor: Actor, request: CreatePayment, clock: Clock): Promise<Seen>;

  /** How many sets of postings the books hold for the payment. */
  protected abstract postingSets(request: CreatePayment): Promise<number>;

  /** Further promises of this subject. */
  protected async more(_request: CreatePayment): Promise<readonly string[]> {
    return [];
  }

  /** One process takes the request, and may die of it. @throws what is neither a fault nor a crash: a bug */
  async attempt(name: string, request: CreatePayment, clock: Clock = this.clock): Promise<Seen> {
    const actor = new Actor(name, this.#plan);
    try {
      const seen = await this.handle(actor, request, clock);
      if (seen.kind === 'answered') this.answers.push(seen.answer);
      return seen;
    } catch (error) {
      const known = error instanceof RetryableError || error instanceof AmbiguousError || error instanceof Crash;
      if (error instanceof Error && (known || actor.crashed)) return { kind: 'unanswered', error };
      throw error;
    }
  }

  /** What does not hold at this moment; empty when every invariant does. */
  async violations(request: CreatePayment): Promise<readonly string[]> {
    const found: string[] = [];
    const money = this.charges(request);
    const postingSets = await this.postingSets(request);
    const answers = new Set(this.answers.map((answer) => JSON.stringify(answer)));
    if (money > 1) found.push(`I1: ${money} charges`);
    if (postingSets > 1) found.push(`I2: ${postingSets} sets of postings`);
    if (answers.size > 1) found.push(`I3: ${answers.size} different answers`);
    if (this.answers.some(({ status }) => status === 201)) {
      if (money !== 1) found.push(`I4: answered 201 with ${money} charges`);
      if (postingSets !== 1) found.push(`I4: answered 201 with ${postingSets} sets of postings`);
    }
    if (this.answers.some(({ status }) => status === 402 || status === 409) && money > 0) {
      found.push('I4: answered that nothing was charged, and something was');
    }
    return [...found, ...(await this.more(request))];
  }

  /** Money that was taken, by the processor's own list. */
  charges(request: CreatePayment): number {
    return this.processor.charges(request.paymentId).filter(({ status }) => status !== 'declined').length;
  }

  /** Faults have stopped: the client goes on asking, as clients do, until it has its stored answer. */
  async settle(request: CreatePayment): Promise<Answer | undefined> {
    this.#plan.active = false;
    for (let round = 0; round < 4; round += 1) {
      const seen = await this.attempt(`settler-${round}`, request);
      if (seen.kind === 'answered') return seen.answer;
      this.clock.advance(30_000);
    }
    return undefined;
  }
}
