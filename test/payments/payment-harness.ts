import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Entropy } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ReplayCache } from '../../lambdas/once/use/operation-runner.ts';
import type { ProcessorAbilities } from '../../lambdas/payments/domain/settlement.ts';
import {
  type CreatePayment,
  type CreatePaymentOutcome,
  type CreatePaymentTools,
  createPayment,
} from '../../lambdas/payments/use/create-payment.ts';

import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';
import { Stores } from '../world/stores.ts';

interface Answered {
  readonly kind: 'first' | 'replay';
  readonly status: number;
  readonly body: Record<string, unknown>;
}

const NO_CACHE: ReplayCache = { get: () => undefined, put: () => undefined };

/** One store, one processor, one clock, and the use case on them. */
export class PaymentHarness {
  readonly clock = new SimulatedClock();
  readonly store = new Stores(this.clock);
  readonly processor: SandboxInProcess;
  readonly entropy: Entropy = countingEntropy();

  constructor(abilities?: ProcessorAbilities) {
    this.processor = createSandboxInProcess({ clock: this.clock, ...(abilities === undefined ? {} : { abilities }) });
  }

  pay(request: CreatePayment, changes: Partial<CreatePaymentTools> = {}): Promise<CreatePaymentOutcome> {
    const { store, processor, clock, entropy } = this;
    const tools = {
      store,
      processor,
      runner: idempotentRunner,
      replays: NO_CACHE,
      clock,
      entropy,
      digest: systemDigest,
    };
    return createPayment({ ...tools, ...changes }, request);
  }

  /** @throws Error when the outcome is no answer */
  async answered(request: CreatePayment, changes: Partial<CreatePaymentTools> = {}): Promise<Answered> {
    const outcome = await this.pay(request, changes);
    if (outcome.kind !== 'first' && outcome.kind !== 'replay') throw new Error(`not answered but ${outcome.kind}`);
    const { status, body } = outcome.answer;
    return { kind: outcome.kind, status, body: JSON.parse(body) as Record<string, unknown> };
  }

  /** The claim is made, the processor is asked, and the process dies: before or after the charge took effect. */
  async claimThenDie(request: CreatePayment, charged: boolean): Promise<void> {
    const dying: PaymentStore = {
      ...this.storeMethods(),
      commit: () => Promise.reject(new Error('a dead process commits nothing')),
      release: () => Promise.reject(new Error('a dead process releases nothing')),
    };
    const silent: Processor = {
      ...this.processor,
      charge: async (order, limit) => {
        if (charged) await this.processor.charge(order, limit);
        throw new Error('the process is gone');
      },
    };
    const gone = await this.pay(request, { store: dying, processor: silent }).catch((error: Error) => error.message);
    if (gone !== 'the process is gone') throw new Error(`it lived on: ${JSON.stringify(gone)}`);
  }

  /** A store that lets `act` happen once, right before the commit. */
  storeWithRival(act: () => Promise<void>): PaymentStore {
    let acted = false;
    return {
      ...this.storeMethods(),
      commit: async (commit) => {
        if (!acted) {
          acted = true;
          await act();
        }
        return this.store.commit(commit);
      },
    };
  }

  async typesOf(request: CreatePayment): Promise<readonly string[]> {
    const transitions = await this.store.listTransitions(request.paymentId, { afterSequence: 0, limit: 9 });
    return transitions.map(({ type }) => type);
  }

  storeMethods(): PaymentStore {
    const { store } = this;
    return {
      claim: (claim) => store.claim(claim),
      takeOver: (takeover) => store.takeOver(takeover),
      commit: (commit) => store.commit(commit),
      release: (operationId, owner) => store.release(operationId, owner),
      readRecord: (operationId) => store.readRecord(operationId),
      readPayment: (paymentId) => store.readPayment(paymentId),
      listTransitions: (paymentId, page) => store.listTransitions(paymentId, page),
    };
  }
}
