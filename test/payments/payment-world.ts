import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ReplayCache } from '../../lambdas/once/use/operation-runner.ts';
import type { ProcessorAbilities } from '../../lambdas/payments/domain/settlement.ts';
import { firstBrokenLink, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { type CreatePayment, createPayment } from '../../lambdas/payments/use/create-payment.ts';

import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import type { Actor, FaultPlan } from '../support/fault-plan.ts';
import { processorOf } from '../support/faulty-ports.ts';
import { type Seen, World } from '../support/world.ts';

/** A mutant of the protocol: wraps what one process sees. */
export interface Mutation {
  readonly store?: (store: PaymentStore) => PaymentStore;
  readonly processor?: (processor: Processor) => Processor;
}

export interface PaymentWorldOptions {
  readonly plan: FaultPlan;
  /** Gives one process its view of the one store. */
  readonly storeFor: (actor: Actor) => PaymentStore;
  /** The store itself, without faults, to look at. */
  readonly truth: PaymentStore;
  readonly abilities?: ProcessorAbilities;
  readonly mutation?: Mutation;
}

const NO_CACHE: ReplayCache = { get: () => undefined, put: () => undefined };

/** Processes that run the engine. */
export class PaymentWorld extends World {
  readonly #entropy = countingEntropy();
  readonly #options: PaymentWorldOptions;

  constructor(options: PaymentWorldOptions) {
    const { plan, abilities } = options;
    super(plan, abilities === undefined ? {} : { abilities });
    this.#options = options;
  }

  protected override async handle(actor: Actor, request: CreatePayment, clock: Clock): Promise<Seen> {
    const { storeFor, mutation = {} } = this.#options;
    const store = storeFor(actor);
    const processor = processorOf(actor, this.processor);
    const outcome = await createPayment(
      {
        store: mutation.store?.(store) ?? store,
        processor: mutation.processor?.(processor) ?? processor,
        runner: idempotentRunner,
        replays: NO_CACHE,
        clock,
        entropy: this.#entropy,
        digest: systemDigest,
      },
      request,
    );
    if (outcome.kind === 'first' || outcome.kind === 'replay') return { kind: 'answered', answer: outcome.answer };
    return { kind: 'refused', reason: outcome.kind };
  }

  protected override async postingSets(request: CreatePayment): Promise<number> {
    return (await this.transitions(request)).filter(({ postings }) => postings.length > 0).length;
  }

  protected override async more(request: CreatePayment): Promise<readonly string[]> {
    const transitions = await this.transitions(request);
    const found: string[] = [];
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the chain is broken');
    if (!isForward(transitions)) found.push('I6: the payment moved backwards');
    return found;
  }

  async transitions(request: CreatePayment): Promise<readonly Transition[]> {
    return this.#options.truth.listTransitions(request.paymentId, { afterSequence: 0, limit: 100 });
  }
}

const TERMINAL = new Set(['succeeded', 'failed', 'canceled']);

function isForward(transitions: readonly Transition[]): boolean {
  return transitions.every((transition, index) => {
    const before = transitions[index - 1];
    return before === undefined || !TERMINAL.has(before.payment.status) || transition.payment.status === 'needs_review';
  });
}
