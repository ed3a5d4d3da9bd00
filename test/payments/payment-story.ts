import type { Answer } from '../../lambdas/kernel/answer.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { firstBrokenLink, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { type CreatePayment, createPayment } from '../../lambdas/payments/use/create-payment.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { beforeEachCall, type Story } from '../support/fault-histories.ts';
import { type Actor, FaultPlan } from '../support/fault-plan.ts';
import { World, type WorldOptions } from '../world/world.ts';

export type Seen =
  | { readonly kind: 'answered'; readonly answer: Answer }
  /** A 409 or 422 with the engine's reason and without a stored response. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** A 503, or no response at all. */
  | { readonly kind: 'unanswered'; readonly error: Error };

/** Wrappers that break the ports of one process, to create a mutant of the protocol. */
export interface Mutation {
  readonly store?: (store: PaymentStore) => PaymentStore;
  readonly processor?: (processor: Processor) => Processor;
}

/** Handlers that are compared with the engine extend this class. */
export class PaymentWorld extends World {
  readonly answers: Answer[] = [];
  readonly #mutation: Mutation;

  constructor({ mutation = {}, ...options }: WorldOptions & { readonly mutation?: Mutation } = {}) {
    super(options);
    this.#mutation = mutation;
  }

  protected async handle(actor: Actor, request: CreatePayment, clock: Clock): Promise<Seen> {
    const { store, processor, ...tools } = this.toolsOf(actor);
    const { store: breakStore = same, processor: breakProcessor = same } = this.#mutation;
    const broken = { store: breakStore(store), processor: breakProcessor(processor) };
    const outcome = await createPayment({ ...tools, ...broken, clock }, request);
    if (outcome.kind === 'first' || outcome.kind === 'replay') return { kind: 'answered', answer: outcome.answer };
    return { kind: 'refused', reason: outcome.kind };
  }

  protected async postingSets(request: CreatePayment): Promise<number> {
    return (await this.transitionsOf(request)).filter(({ postings }) => postings.length > 0).length;
  }

  /** Lists violations that only the engine's own records reveal. */
  protected async more(request: CreatePayment): Promise<readonly string[]> {
    const transitions = await this.transitionsOf(request);
    const found: string[] = [];
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the hash chain does not verify');
    if (!isForward(transitions)) found.push('I6: the payment moved backwards');
    return found;
  }

  async attempt(name: string, request: CreatePayment, clock: Clock = this.clock): Promise<Seen> {
    const ended = await this.process(name, (actor) => this.handle(actor, request, clock));
    if ('error' in ended) return { kind: 'unanswered', ...ended };
    if (ended.result.kind === 'answered') this.answers.push(ended.result.answer);
    return ended.result;
  }

  async violations(request: CreatePayment): Promise<readonly string[]> {
    const found: string[] = [];
    const money = this.taken(request);
    const postingSets = await this.postingSets(request);
    const answers = new Set(this.answers.map((answer) => JSON.stringify(answer)));
    if (money > 1) found.push(`I1: ${money} charges`);
    if (postingSets > 1) found.push(`I2: ${postingSets} sets of postings`);
    if (answers.size > 1) found.push(`I3: ${answers.size} different responses`);
    if (this.answers.some(({ status }) => status === 201)) {
      if (money !== 1) found.push(`I4: returned 201 with ${money} charges`);
      if (postingSets !== 1) found.push(`I4: returned 201 with ${postingSets} sets of postings`);
    }
    if (this.answers.some(({ status }) => status === 402 || status === 409) && money > 0) {
      found.push('I4: responded that nothing was charged, but something was');
    }
    return [...found, ...(await this.more(request))];
  }

  /** @returns the stored response, if there is one */
  async settle(request: CreatePayment): Promise<Answer | undefined> {
    this.plan.calm();
    for (let round = 0; round < 4; round += 1) {
      const seen = await this.attempt(`settler-${round}`, request);
      if (seen.kind === 'answered') return seen.answer;
      this.clock.advance(30_000);
    }
    return undefined;
  }
}

/** A rival acts right before call number `rivalAt` of the first attempt. */
export interface Race {
  readonly rivalAt?: number;
  /** Whether the lease of the first attempt has expired when the rival acts. */
  readonly leaseEnded?: boolean;
}

/** One race has no rival. In the others, the rival acts either during or after the lease. */
export function everyRace(calls: number): readonly Race[] {
  return [{}, ...beforeEachCall(calls, [{ leaseEnded: false }, { leaseEnded: true }])];
}

/** Longer than any lease. */
export const BEYOND_LEASE_MS = 26_000;

export type MakeWorld = (plan: FaultPlan) => { readonly world: PaymentWorld; readonly request: CreatePayment };

/** Checks the guarantees after each step, and the client's response at the end. */
export function paymentStory(make: MakeWorld): Story<Race> {
  return async (faults, { rivalAt, leaseEnded }) => {
    const plan = new FaultPlan(faults);
    const { world, request } = make(plan);
    const violations: string[] = [];
    const attempt = async (name: string): Promise<void> => {
      await world.attempt(name, request);
      violations.push(...(await world.violations(request)).map((violation) => `after the ${name}: ${violation}`));
    };
    plan.holdAt(rivalAt, () => {
      if (leaseEnded === true) world.clock.advance(BEYOND_LEASE_MS);
      return attempt('rival');
    });
    await attempt('first attempt');
    world.clock.advance(BEYOND_LEASE_MS);
    await attempt('retry');
    const calls = plan.calm();
    const answer = await world.settle(request);
    violations.push(...(await world.violations(request)).map((violation) => `without faults: ${violation}`));
    // The stored response must be 201 (outcome) or 202 (outcome not known within the send window).
    if (answer === undefined) violations.push('I7: there is no stored response');
    else if (answer.status !== 201 && answer.status !== 202) violations.push(`the client received ${answer.status}`);
    return { calls, violations };
  };
}

const same = <Port>(port: Port): Port => port;

const TERMINAL = new Set(['succeeded', 'failed', 'canceled']);

function isForward(transitions: readonly Transition[]): boolean {
  return transitions.every((transition, index) => {
    const before = transitions[index - 1];
    return before === undefined || !TERMINAL.has(before.payment.status) || transition.payment.status === 'needs_review';
  });
}
