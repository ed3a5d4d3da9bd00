import {
  type CallbackOutcome,
  type ReceiveCallbackTools,
  receiveCallback,
} from '../../lambdas/callbacks/receive-callback.ts';
import type { JobRun, RunId } from '../../lambdas/jobs/domain/job-run.ts';
import type { JobRunStore } from '../../lambdas/jobs/use/job-runs.ts';
import { type OrderId, ownerToken, type PaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock, Entropy } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ConsumerClaims, ConsumerEffects } from '../../lambdas/once/use/consumer-records.ts';
import type { ReplayCache } from '../../lambdas/once/use/operation-runner.ts';
import type { ApprovingStore } from '../../lambdas/operators/use/approving-store.ts';
import type { Order } from '../../lambdas/orders/domain/order.ts';
import type { OrderTransition } from '../../lambdas/orders/domain/order-transition.ts';
import { paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { type CreateOrder, type CreateOrderOutcome, createOrder } from '../../lambdas/orders/use/create-order.ts';
import type { OrderTools } from '../../lambdas/orders/use/order-calls.ts';
import type { ReferralProgram, StockKeeper } from '../../lambdas/orders/use/order-parties.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import { factsOf } from '../../lambdas/payments/domain/processor-charge.ts';
import { nextTransition, type Transition } from '../../lambdas/payments/domain/transition.ts';
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
import type { Hold, PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import type { OrphanStore } from '../../lambdas/payments/use/unfinished-work.ts';
import type { DueQueue } from '../../lambdas/resolving/use/due-queue.ts';
import type { Resolved } from '../../lambdas/resolving/use/process-entries.ts';
import { type ResolveTools, resolveClaims, resolveInquiries } from '../../lambdas/resolving/use/resolve.ts';
import { type RetriedOrphans, retryOrphans } from '../../lambdas/resolving/use/retry-orphans.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import type { DueWebhooks, GroupedTask, WebhookStore, WebhookTask } from '../../lambdas/webhooks/use/webhooks.ts';
import { sweepAll } from '../jobs/sweep-all.ts';
import { MemoryMailer } from '../orders/memory-mailer.ts';
import { createShopParties, type ShopParties } from '../orders/shop-parties.ts';
import { BY_RUN, requestedAt } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Actor, type Ended, FaultPlan } from '../support/fault-plan.ts';
import { booksOf, effectsOf, ordersOf, portWithFaults, processorOf, storeOf } from '../support/faulty-ports.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryViews } from '../views/memory-views.ts';
import type { MemoryDynamoDbOptions } from './memory-dynamodb.ts';
import { createSandboxInProcess, type SandboxInProcess, type SandboxInProcessOptions } from './sandbox-in-process.ts';
import { emptyTables, type Stores, storesOfWorld } from './stores.ts';

export interface WorldTools extends ResolveTools, OrderTools, StorePorts {
  readonly processor: Processor;
  readonly effects: ApprovingStore;
  readonly tasks: Queue;
  readonly report: (error: unknown) => void;
}

interface StorePorts extends Pick<OrderTools & ResolveTools, 'store' | 'effects' | 'work' | 'orders'> {
  readonly effects: ApprovingStore;
  readonly orphanStore: OrphanStore;
  readonly holds: DueQueue<Hold>;
  readonly runs: JobRunStore;
  readonly records: ConsumerEffects & ConsumerClaims;
  readonly webhooks: WebhookStore;
  readonly due: DueWebhooks;
}

type Message = Pick<JobRun, 'runId'> | WebhookTask;

interface Queue {
  enqueue(asked: Pick<JobRun, 'runId'> | readonly GroupedTask[], delaySeconds?: number): Promise<void>;
}

export interface WorldOptions extends Omit<SandboxInProcessOptions, 'clock'>, Pick<MemoryDynamoDbOptions, 'pageBytes'> {
  /**
   * In Unix milliseconds.
   *
   * @default noon UTC on 1 March 2026
   */
  readonly nowMs?: number;
  readonly plan?: FaultPlan;
  /** @default stores on the authority of the test, with in-memory tables */
  readonly store?: Stores;
  /**
   * Creates the stores of one process, and injects faults into their SDK calls.
   *
   * @default `store`, with faults injected into the calls of its ports
   */
  readonly storeFor?: (actor: Actor, clock: Clock) => Stores;
}

type Changes = Partial<WorldTools>;
type OfPayment = Pick<CreatePayment, 'paymentId'>;
type OfOrder = Pick<CreateOrder, 'orderId'>;

const NO_CACHE: ReplayCache = {
  find: async () => undefined,
  put: () => undefined,
  committed: async () => undefined,
};
const MINUTE_MS = 60_000;
const GONE = 'the process died';

/**
 * Test world: a clock, the production stores with in-memory tables, the in-process sandbox, and the use cases that run
 * on them.
 */
export class World {
  readonly plan: FaultPlan;
  readonly clock: SimulatedClock;
  readonly store: Stores;
  readonly entropy: Entropy = countingEntropy();
  /** Views. A `World` projects no events into them; an `Api` does. */
  readonly views: MemoryViews;
  readonly mailer = new MemoryMailer();
  readonly stock: StockKeeper = {
    reserve: (order, limit) => this.shop.stock.reserve(order, limit),
    release: (id, limit) => this.shop.stock.release(id, limit),
  };
  readonly referrals: ReferralProgram = { credit: (order, limit) => this.shop.referrals.credit(order, limit) };
  /** Sums of the counts that the resolver has reported, by name. */
  readonly counted = new Map<string, number>();
  /** Errors that use cases reported for single items. */
  readonly reported: unknown[] = [];
  /** In the order of sending. Each message becomes visible at `atMs`. */
  queue: readonly { readonly message: Message; readonly atMs: number }[] = [];
  readonly tasks: Queue = {
    enqueue: async (asked, delaySeconds = 0) => {
      const atMs = this.clock.nowMs() + delaySeconds * 1000;
      const messages = 'runId' in asked ? [asked] : asked.map(({ task }) => task);
      this.queue = [...this.queue, ...messages.map((message) => ({ message, atMs }))];
    },
  };
  #shop: ShopParties | undefined;
  readonly #storeFor: WorldOptions['storeFor'];
  readonly #sandbox: Omit<SandboxInProcessOptions, 'clock'>;
  #processor: SandboxInProcess | undefined;

  constructor({ plan = new FaultPlan(), nowMs, store, storeFor, pageBytes, ...sandbox }: WorldOptions = {}) {
    this.plan = plan;
    this.clock = new SimulatedClock(nowMs);
    const tables = () => emptyTables(this.clock, pageBytes === undefined ? {} : { pageBytes });
    this.store = store ?? storesOfWorld(this.clock, tables());
    this.views = new MemoryViews(this.store.database);
    this.#storeFor = storeFor;
    this.#sandbox = sandbox;
  }

  /** Created on first use, because thousands of `World` objects need no sandbox. */
  get processor(): SandboxInProcess {
    this.#processor ??= createSandboxInProcess({ clock: this.clock, ...this.#sandbox });
    return this.#processor;
  }

  get tools(): WorldTools {
    const { store, processor, stock, referrals, mailer, tasks } = this;
    return {
      ...this.basics,
      cause: BY_RUN,
      ...portsOf(store),
      tasks,
      processor,
      books: [processor],
      stock,
      referrals,
      mailer,
      replays: NO_CACHE,
    };
  }

  get basics() {
    const { clock, entropy, reported } = this;
    const report = (error: unknown): void => void reported.push(error);
    return { runner: idempotentRunner, clock, entropy, digest: systemDigest, report };
  }

  /** In order: run ids of job runs, and webhook tasks. */
  get enqueued(): readonly (RunId | WebhookTask)[] {
    return this.queue.map(({ message }) => ('runId' in message ? message.runId : message));
  }

  takeDue(): Message | undefined {
    const index = this.queue.findIndex(({ atMs }) => atMs <= this.clock.nowMs());
    const due = this.queue[index];
    if (due !== undefined) this.queue = this.queue.toSpliced(index, 1);
    return due?.message;
  }

  get shop(): ShopParties {
    this.#shop ??= createShopParties();
    return this.#shop;
  }

  /** Creates a process with the planned faults of this `World` injected into its calls. */
  actor(name: string): Actor {
    return new Actor(name, this.plan);
  }

  /** The process may crash. */
  process<Result>(name: string, work: (actor: Actor) => Promise<Result>): Promise<Ended<Result>> {
    const actor = this.actor(name);
    return actor.run(() => work(actor));
  }

  toolsOf(actor: Actor): WorldTools {
    const { tools } = this;
    return {
      ...tools,
      ...this.portsOf(actor),
      processor: processorOf(actor, tools.processor),
      books: tools.books.map((books) => booksOf(actor, books)),
      stock: portWithFaults(actor, tools.stock, 'reserve', 'release'),
      referrals: portWithFaults(actor, tools.referrals, 'credit'),
      mailer: portWithFaults(actor, tools.mailer, 'send'),
      tasks: this.tasksOf(actor),
    };
  }

  portsOf(actor: Actor): StorePorts {
    const own = this.#storeFor?.(actor, this.clock);
    return own === undefined ? faultyPorts(actor, portsOf(this.store)) : portsOf(own);
  }

  tasksOf(actor: Actor): Queue {
    return portWithFaults(actor, this.tasks, 'enqueue');
  }

  pay(request: CreatePayment, changes: Changes = {}): Promise<CreatePaymentOutcome> {
    return createPayment({ ...this.tools, ...changes }, request);
  }

  /** @throws Error when the outcome has no response */
  async answered(request: CreatePayment, changes: Changes = {}) {
    const outcome = await this.pay(request, changes);
    if (outcome.kind !== 'first' && outcome.kind !== 'replay')
      throw new Error(`the payment got no response: ${outcome.kind}`);
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

  /** As the job `resolve` does. */
  returnCharges(): Promise<Resolved> {
    this.clock.advance(MINUTE_MS);
    return returnCharges(this.tools);
  }

  /** The process crashes before the charge is sent, or after the charge took effect (`charged`). */
  async claimThenDie(request: CreatePayment, charged: boolean, processor = this.processor): Promise<void> {
    const store: PaymentStore = {
      ...this.storeMethods(),
      commit: () => Promise.reject(new Error('the crashed process tried to commit')),
      release: () => Promise.reject(new Error('the crashed process tried to release its claim')),
    };
    const charge: SandboxInProcess['charge'] = async (order, limit) => {
      if (charged) await processor.charge(order, limit);
      throw new Error(GONE);
    };
    await dies(this.pay(request, { store, processor: { ...processor, charge } }));
  }

  async dieBeforeChange(request: ChangePayment): Promise<void> {
    const change = () => Promise.reject(new Error(GONE));
    await dies(this.change(request, { processor: { ...this.processor, change } }));
  }

  async dieAfterChange(request: ChangePayment): Promise<void> {
    const change: SandboxInProcess['change'] = async (order, limit) => {
      await this.processor.change(order, limit);
      throw new Error(GONE);
    };
    await dies(this.change(request, { processor: { ...this.processor, change } }));
  }

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
      readEnds: (...ends) => store.readEnds(...ends),
      readNotes: (first) => store.readNotes(first),
      listTransitions: (paymentId, page) => store.listTransitions(paymentId, page),
    };
  }

  async chain({ paymentId }: OfPayment): Promise<PaymentChain> {
    const chain = await readChain(this.store, paymentId);
    if (chain === undefined) throw new Error('the payment does not exist');
    return chain;
  }

  transitionsOf({ paymentId }: OfPayment): Promise<readonly Transition[]> {
    return this.store.listTransitions(paymentId, { afterSequence: 0, limit: 100 });
  }

  async typesOf(of: OfPayment | OfOrder): Promise<readonly string[]> {
    const transitions: readonly { readonly type: string }[] =
      'paymentId' in of ? await this.transitionsOf(of) : await this.transitions(of.orderId);
    return transitions.map(({ type }) => type);
  }

  /** @throws Error unless there is exactly one charge */
  chargeOf({ paymentId }: OfPayment): string {
    const [charge, ...more] = this.processor.charges(paymentId);
    if (charge === undefined || more.length > 0) throw new Error(`the payment has ${more.length} further charges`);
    return charge.chargeId;
  }

  /** From the processor's own list. */
  taken({ paymentId }: OfPayment): number {
    return this.processor.charges(paymentId).filter(({ status }) => status !== 'declined').length;
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

  /** As a callback does. */
  async learn(paymentId: PaymentId): Promise<void> {
    for (const charge of this.processor.charges(paymentId)) {
      const { payment } = (await this.chain({ paymentId })).state;
      for (const fact of factsOf(charge, payment, this.clock.nowMs())) await this.record(paymentId, fact);
    }
  }

  async record(paymentId: PaymentId, fact: Fact): Promise<void> {
    const nowMs = this.clock.nowMs();
    const chain = await this.chain({ paymentId });
    const decision = decide(fact, chain.state);
    if (decision.kind !== 'append') return;
    const name = `${paymentId}_${chain.newest.sequence}`;
    const outcome = await this.store.recordEffect({
      record: {
        operationId: storedOperationId(`cb_${name}`),
        paymentId,
        owner: ownerToken(`fact-${name}`),
        recordedAtMs: nowMs,
        expiresAtSeconds: nowMs / 1000 + 86_400,
      },
      transitions: [nextTransition(systemDigest, chain, decision.draft, requestedAt(nowMs))],
    });
    invariant(outcome.kind === 'recorded', 'a rival recorded the fact first');
  }

  /** Ignores a refusal by the sandbox. */
  async refundByHand(payment: OfPayment, amountMinor: number): Promise<void> {
    await this.processor.inside.refund(this.chargeOf(payment), amountMinor).catch((error: Error) => {
      if (!error.message.startsWith('the sandbox refused')) throw error;
    });
  }

  order(request: CreateOrder, changes: Changes = {}): Promise<CreateOrderOutcome> {
    return createOrder({ ...this.tools, ...changes }, request);
  }

  async resolve(changes: Changes = {}): Promise<void> {
    const count = (what: string, times: number) => this.counted.set(what, (this.counted.get(what) ?? 0) + times);
    const alarm = (what: string) => void count(what, 1);
    const { stock, referrals, mailer, ...tools } = { alarm, ...this.tools, ...changes };
    await sweepAll({
      ...tools,
      parties: { stock, referrals, mailer },
      onResolved: (_queue, { finished, failed, undecidable }) => {
        const counts = { resolved: finished, unavailable: failed, undecidable };
        for (const [what, times] of Object.entries(counts)) count(what, times);
      },
    });
  }

  async resolveFor(minutes: number, changes: Changes = {}, stepMinutes = 1): Promise<void> {
    for (let minute = 0; minute < minutes; minute += stepMinutes) {
      this.clock.advance(stepMinutes * MINUTE_MS);
      await this.resolve(changes);
    }
  }

  transitions(orderId: OrderId): Promise<readonly OrderTransition[]> {
    return this.store.listOrderTransitions(orderId, { afterSequence: 0, limit: 100 });
  }

  async read({ orderId }: OfOrder): Promise<Order> {
    const newest = (await this.transitions(orderId)).at(-1);
    if (newest === undefined) throw new Error('the order does not exist');
    return newest.order;
  }

  payment({ orderId }: OfOrder): Promise<PaymentChain> {
    return this.chain({ paymentId: paymentOfOrder(systemDigest, orderId) });
  }

  /** In minor units, from the processor's own list. */
  keptMinor({ orderId }: OfOrder): number {
    const payment = { paymentId: paymentOfOrder(systemDigest, orderId) };
    return this.capturedAtProcessor(payment) - this.refundedAtProcessor(payment);
  }

  charges({ orderId }: OfOrder): number {
    return this.taken({ paymentId: paymentOfOrder(systemDigest, orderId) });
  }
}

/** @throws Error if the process ends in a different way */
async function dies(work: Promise<unknown>): Promise<void> {
  const ended = await work.catch((error: Error) => error.message);
  if (ended !== GONE) throw new Error(`the process did not crash: ${JSON.stringify(ended)}`);
}

function portsOf(store: Stores): StorePorts {
  const { holds, jobRuns: runs, consumed: records, webhooks } = store;
  const ofPayments = { store, effects: store, work: store, orphanStore: store, orders: store };
  return { ...ofPayments, holds, runs, records, webhooks, due: webhooks };
}

/** Adds faults to the calls of the ports that are listed here. All other calls have no faults. */
function faultyPorts(actor: Actor, ports: StorePorts): StorePorts {
  const { store, effects, orders, holds, runs, records, webhooks, due } = ports;
  const reads = ['readEffect', 'readBook', 'readDelivery', 'listDeliveries', 'readReplay', 'readLane'] as const;
  return {
    ...ports,
    webhooks: portWithFaults(actor, webhooks, 'write', 'park', ...reads),
    due: {
      due: (nowMs, limit) => due.due(nowMs, limit),
      move: (moved, to) => due.move(moved, to),
      finish: (eventId) => due.finish(eventId),
      ...portWithFaults(actor, due, 'dueInLane'),
    },
    store: storeOf(actor, store),
    effects: effectsOf(actor, effects),
    orders: ordersOf(actor, orders),
    holds: portWithFaults(actor, holds, 'dueBefore', 'postpone', 'close'),
    runs: portWithFaults(actor, runs, 'accept', 'readAccepted', 'readRun', 'listRuns', 'lock', 'save'),
    records: portWithFaults(actor, records, 'readEffect', 'recordOnce', 'claim', 'complete', 'fail'),
  };
}
