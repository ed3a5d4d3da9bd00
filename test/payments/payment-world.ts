import type { Answer } from '../../lambdas/kernel/answer.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { firstBrokenLink, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { type CreatePayment, createPayment } from '../../lambdas/payments/use/create-payment.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { type Actor, Crash } from '../support/fault-plan.ts';
import { World, type WorldOptions } from '../world/world.ts';

/** What one attempt came to, as a client sees it. */
export type Seen =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** 409 or 422: no stored answer, and the engine's own word for it. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** 503, or no answer at all. */
  | { readonly kind: 'unanswered'; readonly error: Error };

/** A mutant of the protocol: wraps what one process sees. */
export interface Mutation {
  readonly store?: (store: PaymentStore) => PaymentStore;
  readonly processor?: (processor: Processor) => Processor;
}

/** Processes that come and go and take one payment: the engine, and the base of what it is compared with. */
export class PaymentWorld extends World {
  /** Every answer that a client was given. */
  readonly answers: Answer[] = [];
  readonly #mutation: Mutation;

  constructor({ mutation = {}, ...options }: WorldOptions & { readonly mutation?: Mutation } = {}) {
    super(options);
    this.#mutation = mutation;
  }

  /** One process handles the request. */
  protected async handle(actor: Actor, request: CreatePayment, clock: Clock): Promise<Seen> {
    const { store, processor, ...tools } = this.toolsOf(actor);
    const { store: breakStore = same, processor: breakProcessor = same } = this.#mutation;
    const broken = { store: breakStore(store), processor: breakProcessor(processor) };
    const outcome = await createPayment({ ...tools, ...broken, clock }, request);
    if (outcome.kind === 'first' || outcome.kind === 'replay') return { kind: 'answered', answer: outcome.answer };
    return { kind: 'refused', reason: outcome.kind };
  }

  /** How many sets of postings the books hold for the payment. */
  protected async postingSets(request: CreatePayment): Promise<number> {
    return (await this.transitionsOf(request)).filter(({ postings }) => postings.length > 0).length;
  }

  /** Further promises of the engine. */
  protected async more(request: CreatePayment): Promise<readonly string[]> {
    const transitions = await this.transitionsOf(request);
    const found: string[] = [];
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the chain is broken');
    if (!isForward(transitions)) found.push('I6: the payment moved backwards');
    return found;
  }

  async transitionsOf(request: CreatePayment): Promise<readonly Transition[]> {
    return this.store.listTransitions(request.paymentId, { afterSequence: 0, limit: 100 });
  }

  /** One process takes the request, and may die of it. @throws what is neither a fault nor a crash: a bug */
  async attempt(name: string, request: CreatePayment, clock: Clock = this.clock): Promise<Seen> {
    const actor = this.actor(name);
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
    const money = this.taken(request);
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
  taken(request: CreatePayment): number {
    return this.processor.charges(request.paymentId).filter(({ status }) => status !== 'declined').length;
  }

  /** Faults have stopped: the client goes on asking, as clients do, until it has its stored answer. */
  async settle(request: CreatePayment): Promise<Answer | undefined> {
    this.plan.active = false;
    for (let round = 0; round < 4; round += 1) {
      const seen = await this.attempt(`settler-${round}`, request);
      if (seen.kind === 'answered') return seen.answer;
      this.clock.advance(30_000);
    }
    return undefined;
  }
}

const same = <Port>(port: Port): Port => port;

const TERMINAL = new Set(['succeeded', 'failed', 'canceled']);

function isForward(transitions: readonly Transition[]): boolean {
  return transitions.every((transition, index) => {
    const before = transitions[index - 1];
    return before === undefined || !TERMINAL.has(before.payment.status) || transition.payment.status === 'needs_review';
  });
}
