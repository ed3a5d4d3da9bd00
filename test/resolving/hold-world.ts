import { receiveCallback } from '../../lambdas/callbacks/receive-callback.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import { netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { changePayment } from '../../lambdas/payments/use/change-payment.ts';
import { createPayment } from '../../lambdas/payments/use/create-payment.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import type { Hold, PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor, ProcessorBooks } from '../../lambdas/payments/use/processor.ts';
import type { DueQueue } from '../../lambdas/resolving/use/due-queue.ts';
import { expireAuthorizationsJob } from '../../lambdas/resolving/use/expire-authorizations.ts';
import { type ResolveTools, resolveClaims, resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { BY_RUN } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { type Actor, Crash } from '../support/fault-plan.ts';
import { booksOf, effectsOf, PORT_VOICE, processorOf, storeOf } from '../support/faulty-ports.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';
import { Stores } from '../world/stores.ts';

export const HOUR_MS = 60 * 60_000;
export const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;

/** What one process sees; everything, without faults, when there is no actor. */
interface Ports {
  readonly store: PaymentStore;
  readonly effects: ResolveTools['effects'];
  readonly processor: Processor;
  readonly books: ProcessorBooks;
  readonly holds: DueQueue<Hold>;
}

/** A payment whose money is set aside, and everybody who may end that. */
export class HoldWorld {
  readonly clock = new SimulatedClock();
  readonly store = new Stores(this.clock);
  readonly processor: SandboxInProcess = createSandboxInProcess({ clock: this.clock });
  readonly request = paymentRequest('held', { capture: 'manual' });
  readonly reported: unknown[] = [];
  readonly #entropy = countingEntropy();
  /** What a look into the processor’s books takes. */
  slowReadsMs = 0;
  #events = 0;

  /** Set aside now. */
  async authorize(source?: string): Promise<void> {
    const request = source === undefined ? this.request : { ...this.request, source };
    await createPayment(this.#tools(this.#ports()), request);
  }

  get chargeId(): string {
    const [charge] = this.processor.charges(this.request.paymentId);
    invariant(charge !== undefined, 'there is a charge');
    return charge.chargeId;
  }

  /** One run of the job. */
  expire(actor?: Actor) {
    const ports = this.#ports(actor);
    const job = expireAuthorizationsJob({ ...this.#tools(ports), holds: ports.holds });
    return sweepJob(job, { nowMs: this.clock.nowMs() });
  }

  /** A run whose process may die of it. */
  async expireOrDie(actor: Actor): Promise<void> {
    await this.expire(actor).catch((error: unknown) => {
      if (!(error instanceof Crash) && !actor.crashed) this.reported.push(error);
    });
  }

  ask(command: ChangeCommand) {
    return changePayment(this.#tools(this.#ports()), change(this.request, `merchant-${command.kind}`, command));
  }

  /** The processor lets it go by itself, and says so. */
  async expireAtProcessor(): Promise<void> {
    const { chargeId, processor } = this;
    const charge = processor.charges(this.request.paymentId).find((each) => each.chargeId === chargeId);
    if (charge?.status === 'authorized') await processor.inside.expire(chargeId);
    await this.callBack();
  }

  async callBack(): Promise<void> {
    this.#events += 1;
    const { clock, processor, store } = this;
    const tools = { effects: store, books: processor, runner: idempotentRunner, clock, entropy: this.#entropy };
    await receiveCallback({ ...tools, digest: systemDigest }, callback(`evt_${this.#events}`, this.chargeId));
  }

  /** An hour of the resolver's runs, without those that would find their queue empty. */
  async resolveForAnHour(): Promise<void> {
    const tools = {
      ...this.#tools(this.#ports()),
      cause: BY_RUN,
      work: this.store,
      report: (error: unknown) => this.reported.push(error),
    };
    for (let half = 0; half < 2; half += 1) {
      this.clock.advance(30 * MINUTE_MS);
      if (this.store.openClaims() > 0) await resolveClaims(tools);
      // In fifteen minutes each is due once, as long as there is any.
      for (let look = 0; look < 15 && this.store.queued('inquiry') > 0; look += 1)
        await resolveInquiries(tools, this.clock.nowMs() + look * MINUTE_MS);
      if (this.store.queued('return') > 0) await returnCharges(tools);
    }
  }

  async chain() {
    const chain = await readChain(this.store, this.request.paymentId);
    invariant(chain !== undefined, 'the payment is there');
    return chain;
  }

  async types(): Promise<readonly string[]> {
    return (await this.chain()).transitions.map(({ type }) => type);
  }

  /** What must never be; and, once all is quiet, what must be. */
  async violations(quiet = false): Promise<readonly string[]> {
    const { transitions, state } = await this.chain();
    const { payment } = state;
    const found: string[] = [];
    const [charge, ...more] = this.processor.charges(payment.id);
    const done = this.processor.inside.applied.map(({ kind }) => kind);
    if (charge === undefined || more.length > 0) found.push('I1: not one charge');
    if (done.filter((kind) => kind === 'void').length > 1) found.push('I1: two voids');
    if (done.includes('void') && done.includes('capture')) found.push('I1: captured and let go');
    if (firstBrokenLink(systemDigest, transitions) !== undefined) found.push('I8: the chain is broken');
    const open = [...state.holdChanges.values()].filter(({ status }) => status === 'pending');
    if (payment.status === 'requires_capture' && open.length > 1) found.push('a capture and a void are under way');
    if (payment.status === 'canceled' && charge?.status !== 'voided') found.push('canceled, and held there still');
    if (!quiet) return found;
    const postings = transitions.flatMap((each) => each.postings);
    const captured = charge?.capturedMinor ?? 0;
    if (netDebitMinor('processor_clearing', payment.currency, postings) !== captured) found.push('the books differ');
    const wanted = captured > 0 ? 'succeeded' : 'canceled';
    if (payment.status !== wanted) found.push(`it stays ${payment.status}`);
    if (payment.status === 'canceled' && payment.cancelReason !== 'expired')
      found.push(`canceled: ${payment.cancelReason}`);
    if (this.store.holdsLeft().length > 0) found.push('it never leaves the queue');
    return found;
  }

  #ports(actor?: Actor): Ports {
    const { store, processor } = this;
    const books: ProcessorBooks = {
      ...processor,
      readCharge: (...call) => {
        this.clock.advance(this.slowReadsMs);
        return processor.readCharge(...call);
      },
    };
    if (actor === undefined) return { store, effects: store, processor, books, holds: store.holds };
    return {
      store: storeOf(actor, store),
      effects: effectsOf(actor, store),
      processor: processorOf(actor, processor),
      books: booksOf(actor, processor),
      holds: {
        dueBefore: (...call) => actor.call('dueBefore', PORT_VOICE, () => store.holds.dueBefore(...call)),
        close: (hold) => actor.call('close', PORT_VOICE, () => store.holds.close(hold)),
      },
    };
  }

  #tools({ store, effects, processor, books }: Ports) {
    return {
      store,
      effects,
      processor,
      books: [books],
      runner: idempotentRunner,
      replays: { get: () => undefined, put: () => undefined },
      clock: this.clock,
      entropy: this.#entropy,
      digest: systemDigest,
    };
  }
}
