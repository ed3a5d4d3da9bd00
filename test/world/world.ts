import {
  type CallbackOutcome,
  type ReceiveCallbackTools,
  receiveCallback,
} from '../../lambdas/callbacks/receive-callback.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Entropy } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ReplayCache } from '../../lambdas/once/use/operation-runner.ts';
import {
  type ChangePayment,
  type ChangePaymentOutcome,
  changePayment,
} from '../../lambdas/payments/use/change-payment.ts';
import {
  type CreatePayment,
  type CreatePaymentOutcome,
  createPayment,
} from '../../lambdas/payments/use/create-payment.ts';
import type { CallbackEvent } from '../../lambdas/payments/use/effect-store.ts';
import { type PaymentChain, readChain } from '../../lambdas/payments/use/payment-chain.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { OrphanShelf } from '../../lambdas/payments/use/unfinished-work.ts';
import {
  type Resolved,
  type ResolveTools,
  resolveClaims,
  resolveInquiries,
} from '../../lambdas/resolving/use/resolve.ts';
import { type RetriedOrphans, retryOrphans } from '../../lambdas/resolving/use/retry-orphans.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { BY_RUN } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { createSandboxInProcess, type SandboxInProcess, type SandboxInProcessOptions } from './sandbox-in-process.ts';
import { Stores } from './stores.ts';

/** What the use cases of payments are given. */
export interface WorldTools extends ResolveTools {
  readonly shelf: OrphanShelf;
}

type Changes = Partial<WorldTools>;
type OfPayment = Pick<CreatePayment, 'paymentId'>;

const NO_CACHE: ReplayCache = { get: () => undefined, put: () => undefined };
const GONE = 'the process is gone';

/** One clock, the product's stores over tables in memory, the sandbox in process, and the use cases on them. */
export class World {
  readonly clock = new SimulatedClock();
  readonly store = new Stores(this.clock);
  readonly processor: SandboxInProcess;
  readonly entropy: Entropy = countingEntropy();
  /** Errors of single items. */
  readonly reported: unknown[] = [];

  constructor(sandbox: Omit<SandboxInProcessOptions, 'clock'> = {}) {
    this.processor = createSandboxInProcess({ clock: this.clock, ...sandbox });
  }

  get tools(): WorldTools {
    const { store, processor, clock, entropy, reported } = this;
    return {
      cause: BY_RUN,
      store,
      effects: store,
      work: store,
      shelf: store,
      processor,
      books: [processor],
      runner: idempotentRunner,
      replays: NO_CACHE,
      clock,
      entropy,
      digest: systemDigest,
      report: (error) => reported.push(error),
    };
  }

  pay(request: CreatePayment, changes: Changes = {}): Promise<CreatePaymentOutcome> {
    return createPayment({ ...this.tools, ...changes }, request);
  }

  /** @throws Error when the outcome is no answer */
  async answered(request: CreatePayment, changes: Changes = {}) {
    const outcome = await this.pay(request, changes);
    if (outcome.kind !== 'first' && outcome.kind !== 'replay') throw new Error(`not answered but ${outcome.kind}`);
    const { status, body } = outcome.answer;
    return { kind: outcome.kind, status, body: JSON.parse(body) as Record<string, unknown> };
  }

  change(request: ChangePayment, changes: Changes = {}): Promise<ChangePaymentOutcome> {
    return changePayment({ ...this.tools, ...changes }, request);
  }

  deliver(event: CallbackEvent, changes: Partial<ReceiveCallbackTools> = {}): Promise<CallbackOutcome> {
    return receiveCallback({ ...this.tools, books: this.processor, ...changes }, event);
  }

  retryOrphans(changes: Changes = {}): Promise<RetriedOrphans> {
    return retryOrphans({ ...this.tools, ...changes });
  }

  resolveClaims(): Promise<Resolved> {
    return resolveClaims(this.tools);
  }

  resolveInquiries(): Promise<Resolved> {
    return resolveInquiries(this.tools);
  }

  returnCharges(): Promise<Resolved> {
    return returnCharges(this.tools);
  }

  /** The claim is made, the processor is asked, and the process dies: before or after the charge took effect. */
  async claimThenDie(request: CreatePayment, charged: boolean): Promise<void> {
    const store: PaymentStore = {
      ...this.storeMethods(),
      commit: () => Promise.reject(new Error('a dead process commits nothing')),
      release: () => Promise.reject(new Error('a dead process releases nothing')),
    };
    const charge: SandboxInProcess['charge'] = async (order, limit) => {
      if (charged) await this.processor.charge(order, limit);
      throw new Error(GONE);
    };
    await dies(this.pay(request, { store, processor: { ...this.processor, charge } }));
  }

  /** The processor has done it, and the process is gone. */
  async dieAfterChange(request: ChangePayment): Promise<void> {
    const change: SandboxInProcess['change'] = async (order, limit) => {
      await this.processor.change(order, limit);
      throw new Error(GONE);
    };
    await dies(this.change(request, { processor: { ...this.processor, change } }));
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

  async chain({ paymentId }: OfPayment): Promise<PaymentChain> {
    const chain = await readChain(this.store, paymentId);
    if (chain === undefined) throw new Error('there is no such payment');
    return chain;
  }

  async typesOf({ paymentId }: OfPayment): Promise<readonly string[]> {
    const transitions = await this.store.listTransitions(paymentId, { afterSequence: 0, limit: 100 });
    return transitions.map(({ type }) => type);
  }

  /** The payment's only charge at the processor. */
  chargeOf({ paymentId }: OfPayment): string {
    const [charge, ...more] = this.processor.charges(paymentId);
    if (charge === undefined || more.length > 0) throw new Error(`there are ${more.length} charges more`);
    return charge.chargeId;
  }

  capturedAtProcessor({ paymentId }: OfPayment): number {
    return this.processor.charges(paymentId).reduce((sum, { capturedMinor }) => sum + capturedMinor, 0);
  }

  refundedAtProcessor({ paymentId }: OfPayment): number {
    return this.processor
      .charges(paymentId)
      .flatMap(({ refunds }) => refunds)
      .filter(({ status }) => status === 'succeeded')
      .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  }

  /** A refund on the processor's own page, of what is left at most. */
  async refundByHand(payment: OfPayment, amountMinor: number): Promise<void> {
    await this.processor.inside.refund(this.chargeOf(payment), amountMinor).catch((error: Error) => {
      if (!error.message.startsWith('the sandbox refused')) throw error;
    });
  }
}

/** @throws Error when it ends in another way */
async function dies(work: Promise<unknown>): Promise<void> {
  const ended = await work.catch((error: Error) => error.message);
  if (ended !== GONE) throw new Error(`the process did not die: ${JSON.stringify(ended)}`);
}
