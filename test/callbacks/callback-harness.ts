import {
  type CallbackOutcome,
  type ReceiveCallbackTools,
  receiveCallback,
} from '../../lambdas/callbacks/receive-callback.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ReplayCache } from '../../lambdas/once/use/operation-runner.ts';
import {
  type CreatePayment,
  type CreatePaymentTools,
  createPayment,
} from '../../lambdas/payments/use/create-payment.ts';

import type { CallbackEvent } from '../../lambdas/payments/use/effect-store.ts';
import { type PaymentChain, readChain } from '../../lambdas/payments/use/payment-chain.ts';
import {
  type RetriedOrphans,
  type RetryOrphansTools,
  retryOrphans,
} from '../../lambdas/resolving/use/retry-orphans.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';
import { Stores } from '../world/stores.ts';

const NO_CACHE: ReplayCache = { get: () => undefined, put: () => undefined };

/** A processor that sends callbacks, the engine, and the store. */
export class CallbackHarness {
  readonly clock = new SimulatedClock();
  /** The errors of single orphans. */
  readonly reported: unknown[] = [];
  readonly store = new Stores(this.clock);
  readonly processor: SandboxInProcess = createSandboxInProcess({ clock: this.clock });
  readonly #entropy = countingEntropy();

  get tools(): ReceiveCallbackTools {
    const { store: effects, processor: books, clock } = this;
    return { effects, books, runner: idempotentRunner, clock, entropy: this.#entropy, digest: systemDigest };
  }

  pay(request: CreatePayment, changes: Partial<CreatePaymentTools> = {}) {
    const { store, processor, clock } = this;
    const tools = { store, processor, runner: idempotentRunner, replays: NO_CACHE, clock };
    return createPayment({ ...tools, entropy: this.#entropy, digest: systemDigest, ...changes }, request);
  }

  deliver(event: CallbackEvent, changes: Partial<ReceiveCallbackTools> = {}): Promise<CallbackOutcome> {
    return receiveCallback({ ...this.tools, ...changes }, event);
  }

  retryOrphans(changes: Partial<RetryOrphansTools> = {}): Promise<RetriedOrphans> {
    const shelf = { shelf: this.store, books: [this.processor] };
    const report = (error: unknown): void => void this.reported.push(error);
    return retryOrphans({ ...this.tools, ...shelf, report, ...changes });
  }

  async chain({ paymentId }: Pick<CreatePayment, 'paymentId'>): Promise<PaymentChain> {
    const chain = await readChain(this.store, paymentId);
    if (chain === undefined) throw new Error('there is no such payment');
    return chain;
  }

  async typesOf(request: Pick<CreatePayment, 'paymentId'>): Promise<readonly string[]> {
    return (await this.chain(request)).transitions.map(({ type }) => type);
  }

  /** The payment's only charge at the processor. */
  chargeOf({ paymentId }: Pick<CreatePayment, 'paymentId'>): string {
    const [charge, ...more] = this.processor.charges(paymentId);
    if (charge === undefined || more.length > 0) throw new Error(`there are ${more.length} charges more`);
    return charge.chargeId;
  }
}

export function callback(eventId: string, chargeId: string, type = 'charge.changed'): CallbackEvent {
  return { processorName: 'sandbox', eventId, type, chargeId };
}
