import type { PayonceEvent } from '../../lambdas/events/domain/event.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { AttemptResult, Delivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import type { WebhookEndpoint, WebhookOwner } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { fanOut, messageOf } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { replayPage } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import { type SendOutcome, sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import { sweepWebhooks } from '../../lambdas/webhooks/use/sweep-webhooks.ts';
import { runLane } from '../../lambdas/webhooks/use/webhook-lanes.ts';
import type {
  DueWebhooks,
  PastEvents,
  WebhookRequest,
  WebhookSecrets,
  WebhookStore,
  WebhookTask,
  WebhookTasks,
  WebhookTransport,
} from '../../lambdas/webhooks/use/webhooks.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Actor, Crash, FaultPlan, type FaultVoice } from '../support/fault-plan.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { OWNER, SECRETS } from './webhook-fixtures.ts';

const VOICE: FaultVoice = {
  throttle: () => new RetryableError('injected_throttle', 'nothing was applied'),
  ambiguous: () => new AmbiguousError('injected_ambiguity', 'nobody knows'),
};

export interface Arrival extends WebhookRequest {
  readonly atMs: number;
  /** Whether its delivery had been recorded as delivered when it came. */
  readonly afterSuccess: boolean;
}

/** A merchant's server that counts, a queue that may deliver twice, a store, a clock, and processes that come and go. */
export class WebhookWorld {
  readonly clock = new SimulatedClock();
  readonly entropy = countingEntropy();
  readonly arrivals: Arrival[] = [];
  readonly reports: unknown[] = [];
  /** How the merchant's server answers. */
  answer: (request: WebhookRequest) => AttemptResult = () => ({ kind: 'answered', status: 204, excerpt: '' });
  past: readonly PayonceEvent[] = [];
  /** What the Ledger has, by the events' ids. */
  readonly #bodies = new Map<string, string>();
  secrets: WebhookSecrets = SECRETS;
  readonly plan: FaultPlan;
  readonly store: WebhookStore & DueWebhooks;
  /** How often a delivery was recorded as delivered, by its id. */
  readonly successes = new Map<string, number>();
  /** How a process sees the store, where that is to be struck call by call of its own. */
  readonly #storeFor: ((actor: Actor) => WebhookStore) | undefined;
  #queue: { readonly task: WebhookTask; readonly atMs: number }[] = [];
  #made = 0;

  constructor(
    plan: FaultPlan = new FaultPlan(),
    store?: WebhookStore & DueWebhooks,
    storeFor?: (actor: Actor) => WebhookStore,
  ) {
    this.plan = plan;
    this.store = store ?? new Stores(this.clock).webhooks;
    this.#storeFor = storeFor;
  }

  async addEndpoints(endpoints: readonly WebhookEndpoint[], owner: WebhookOwner = OWNER): Promise<void> {
    const was = await this.store.readBook(owner);
    const now = { ...was, revision: was.revision + 1, endpoints: [...was.endpoints, ...endpoints] };
    await this.store.write({ book: { was, now } });
  }

  actor(name: string): Actor {
    this.#made += 1;
    return new Actor(`${name}-${this.#made}`, this.plan);
  }

  tools(actor: Actor) {
    const { clock, entropy, reports } = this;
    return {
      webhooks: this.#storeFor?.(actor) ?? this.#storeOf(actor),
      due: this.#dueOf(actor),
      transport: this.#transportOf(actor),
      tasks: this.#tasksOf(actor),
      pastEvents: this.#pastOf(actor),
      bodies: (id: string) => actor.call('body', VOICE, async () => this.#bodies.get(id)),
      secrets: this.secrets,
      runner: idempotentRunner,
      digest: systemDigest,
      clock,
      entropy,
      report: (error: unknown) => reports.push(error),
    };
  }

  appendToLedger({ event }: PayonceEvent): void {
    this.#bodies.set(event.id, JSON.stringify(event));
  }

  /** The bus delivers until the event is taken in. */
  async publish(event: PayonceEvent): Promise<void> {
    this.appendToLedger(event);
    await this.until('fan-out', (actor) => fanOut(this.tools(actor), event));
  }

  /** Somebody tries, in a process of its own each time, until it is done. @returns whether it ever is */
  async until(name: string, work: (actor: Actor) => Promise<unknown>, tries = 5): Promise<boolean> {
    for (let attempt = 0; attempt < tries; attempt += 1) {
      if (await this.#living(name, work)) return true;
    }
    return false;
  }

  /** What the queue has now; a message whose process failed comes again, once more. */
  async drain(): Promise<readonly SendOutcome[]> {
    const outcomes: SendOutcome[] = [];
    for (let messages = 0; messages < 2_000; messages += 1) {
      const index = this.#queue.findIndex(({ atMs }) => atMs <= this.clock.nowMs());
      if (index < 0) break;
      const [message] = this.#queue.splice(index, 1);
      if (message === undefined) break;
      const work = async (actor: Actor): Promise<void> => {
        const { task } = message;
        if (task.kind === 'replay') await replayPage(this.tools(actor), task.replayId);
        else if (task.kind === 'lane') outcomes.push(...(await runLane(this.tools(actor), task.endpointId)));
        else outcomes.push(await sendWebhook(this.tools(actor), task.endpointId, task.deliveryId));
      };
      const done = await this.#living('sender', work);
      if (!done) await this.#living('sender-again', work);
    }
    return outcomes;
  }

  async sweep(): Promise<number> {
    const { store, clock } = this;
    const tasks = this.#tasksOf(new Actor('sweeper', new FaultPlan()));
    return sweepWebhooks({ webhooks: store, due: store, clock, tasks });
  }

  /** Time goes on by minutes: the queue is drained, and what is due is swept. */
  async pass(minutes: number): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      this.clock.advance(60_000);
      await this.sweep();
      await this.drain();
    }
  }

  /** Time jumps to whatever is due next. @returns false when nothing is */
  async jump(deliveries: () => Promise<readonly Delivery[]>): Promise<boolean> {
    const due = (await deliveries()).flatMap(({ sweepAtMs, leaseExpiresAtMs = 0 }) =>
      sweepAtMs === undefined ? [] : [Math.max(sweepAtMs, leaseExpiresAtMs)],
    );
    if (due.length === 0) return false;
    this.clock.advance(Math.max(0, Math.min(...due) - this.clock.nowMs()));
    await this.sweep();
    await this.drain();
    return true;
  }

  /** The queue forgets all: messages are lost. */
  loseMessages(): void {
    this.#queue = [];
  }

  /** Every message that waits is there twice. */
  doubleMessages(): void {
    this.#queue = [...this.#queue, ...this.#queue];
  }

  /** @returns false when the process died or failed */
  async #living(name: string, work: (actor: Actor) => Promise<unknown>): Promise<boolean> {
    const actor = this.actor(name);
    try {
      await work(actor);
      return !actor.crashed;
    } catch (error) {
      const known = error instanceof RetryableError || error instanceof AmbiguousError || error instanceof Crash;
      if (known || actor.crashed) return false;
      throw error;
    }
  }

  #storeOf(actor: Actor): WebhookStore {
    const { store } = this;
    return {
      write: (change) =>
        actor.call('write', VOICE, async () => {
          const outcome = await store.write(change);
          if (outcome.kind === 'written') this.#noteSuccesses(change.deliveries ?? []);
          return outcome;
        }),
      readEffect: (id) => actor.call('readEffect', VOICE, () => store.readEffect(id)),
      readBook: (owner) => actor.call('readBook', VOICE, () => store.readBook(owner)),
      readDelivery: (endpoint, id) => actor.call('readDelivery', VOICE, () => store.readDelivery(endpoint, id)),
      park: (endpoint, id) => actor.call('park', VOICE, () => store.park(endpoint, id)),
      listDeliveries: (endpoint, page) => actor.call('list', VOICE, () => store.listDeliveries(endpoint, page)),
      readReplay: (id) => actor.call('readReplay', VOICE, () => store.readReplay(id)),
      readLane: (id) => actor.call('readLane', VOICE, () => store.readLane(id)),
    };
  }

  #dueOf(actor: Actor): DueWebhooks {
    const { store } = this;
    return {
      due: (nowMs, limit) => store.due(nowMs, limit),
      dueInLane: (id, limit) => actor.call('dueInLane', VOICE, () => store.dueInLane(id, limit)),
      move: (due, to) => store.move(due, to),
    };
  }

  #noteSuccesses(deliveries: readonly { readonly was?: Delivery; readonly now: Delivery }[]): void {
    for (const { was, now } of deliveries) {
      if (now.status !== 'delivered' || was?.status === 'delivered') continue;
      this.successes.set(now.id, (this.successes.get(now.id) ?? 0) + 1);
    }
  }

  #transportOf(actor: Actor): WebhookTransport {
    return {
      post: async (request) => {
        try {
          return await actor.call('post', VOICE, async () => this.#arrive(request));
        } catch (error) {
          // As the port promises: the receiver's troubles are results.
          if (error instanceof Crash) throw error;
          return { kind: 'unanswered', error: 'timeout' };
        }
      },
    };
  }

  #arrive(request: WebhookRequest): AttemptResult {
    const afterSuccess = [...this.successes.keys()].length > 0;
    this.arrivals.push({ ...request, atMs: this.clock.nowMs(), afterSuccess });
    return this.answer(request);
  }

  #tasksOf(actor: Actor): WebhookTasks {
    return {
      enqueue: (tasks, delaySeconds) =>
        actor.call('enqueue', VOICE, async () => {
          const atMs = this.clock.nowMs() + delaySeconds * 1000;
          this.#queue.push(...tasks.map((task) => ({ task, atMs })));
        }),
    };
  }

  /** Two events to a page. */
  #pastOf(actor: Actor): PastEvents {
    const page: PastEvents = async ({ fromMs, untilMs, tenantId, mode, cursor = '0' }) => {
      for (const event of this.past) this.appendToLedger(event);
      const owned = this.past.filter(
        (event) =>
          event.tenant === tenantId &&
          event.mode === mode &&
          event.occurredAtMs >= fromMs &&
          event.occurredAtMs < untilMs,
      );
      const from = Number(cursor);
      const events = owned.slice(from, from + 2).map(messageOf);
      return from + 2 < owned.length ? { events, cursor: String(from + 2) } : { events };
    };
    return (query) => actor.call('past', VOICE, () => page(query));
  }
}
