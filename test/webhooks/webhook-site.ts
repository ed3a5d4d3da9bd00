import type { SQSEvent } from 'aws-lambda';
import type { AnyEvent } from '../../lambdas/events/domain/event.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { type Delivery, newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { type WebhookEndpoint } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { runWebhookTasks } from '../../lambdas/webhooks/http/webhook-tasks.ts';
import { fanOut, webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { sweepWebhooks } from '../../lambdas/webhooks/use/sweep-webhooks.ts';
import { type EndpointChange, updateEndpoint } from '../../lambdas/webhooks/use/webhook-endpoints.ts';
import type { GroupedTask, Late, WebhookRequest, WebhookTransport } from '../../lambdas/webhooks/use/webhooks.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { nextOfFairQueue } from '../support/fair-queue.ts';
import { receiverTakes } from '../support/receiver.ts';
import { Stores } from '../world/stores.ts';
import { endpointNamed, eventNamed, SECRETS } from './webhook-fixtures.ts';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const START_MS = Date.UTC(2026, 2, 1, 12);

/** A clock that advances only when all processes wait. */
class Timeline implements Clock {
  #nowMs = START_MS;
  readonly #waits: { readonly atMs: number; readonly go: () => void }[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wait = { atMs: this.#nowMs + ms, go: resolve };
    const place = this.#waits.findLastIndex(({ atMs }) => atMs <= wait.atMs);
    this.#waits.splice(place + 1, 0, wait);
    return promise;
  }

  async until(atMs: number): Promise<void> {
    for (;;) {
      await new Promise(setImmediate);
      const next = this.#waits[0];
      if (next === undefined || next.atMs > atMs) break;
      this.#waits.shift();
      this.#nowMs = Math.max(this.#nowMs, next.atMs);
      next.go();
    }
    this.#nowMs = atMs;
  }
}

/** The deployed batch size and number of concurrent executions. */
const TASKS = { batch: 10, atOnce: 20 };
const LANES = { batch: 1, atOnce: 20 };
/** Time that an execution takes in addition to its requests, in milliseconds. */
export const WORK_MS = 30;

export class Site {
  readonly clock = new Timeline();
  readonly store = new Stores(this.clock).webhooks;
  readonly failed: unknown[] = [];
  readonly failedMessages: unknown[] = [];
  /**
   * In milliseconds, by URL. A request to a receiver that `hangs` times out after ten seconds. A receiver that `fails`
   * responds with 500.
   */
  readonly answersIn = new Map<string, number | 'hangs' | 'fails'>();
  readonly arrivals: { readonly url: string; readonly eventId: string; readonly atMs: number }[] = [];
  /** Number of overdue deliveries in each sweep that found overdue deliveries. */
  readonly waiting: number[] = [];
  calls = 0;
  readonly parked: string[] = [];
  mostMessages = 0;
  /** Whether the queues serve all message groups fairly. */
  isFair = true;
  readonly #queues = { attempt: [] as GroupedTask[], other: [] as GroupedTask[] };
  readonly #running = { attempt: [] as (readonly GroupedTask[])[], other: [] as (readonly GroupedTask[])[] };

  readonly tools = {
    webhooks: this.store,
    due: this.store,
    secrets: SECRETS,
    transport: { post: (...call: Parameters<WebhookTransport['post']>) => this.#post(...call) },
    bodies: async () => '{}',
    pastEvents: async () => ({ events: [] }),
    parking: {
      park: async (parked: { readonly reason: string }) => void this.parked.push(parked.reason),
      requeue: async ({ body }: { readonly body: string }) => void this.failedMessages.push(JSON.parse(body)),
      acknowledge: async () => undefined,
    },
    tasks: {
      enqueue: async (tasks: readonly GroupedTask[], delaySeconds: number) => this.#enqueue(tasks, delaySeconds),
    },
    publish: async (events: readonly AnyEvent[]) => events.map(() => ({ kind: 'published' as const })),
    waiting: (rows: number) => void this.waiting.push(rows),
    runner: idempotentRunner,
    clock: this.clock,
    entropy: countingEntropy(),
    digest: systemDigest,
    report: (error: unknown) => void this.failed.push(error),
    telemetry: { run: () => undefined, fault: (_what: string, error: unknown) => void this.failed.push(error) },
  };

  async add(endpoint: WebhookEndpoint, answersIn: number | 'hangs'): Promise<void> {
    this.answersIn.set(endpoint.url, answersIn);
    const was = await this.store.readBook(ownerOf(endpoint));
    await this.store.write({ book: { was, now: { ...was, revision: 1, endpoints: [endpoint] } } });
  }

  /** Adds deliveries whose messages were lost. */
  async addDue(endpoint: WebhookEndpoint, count: number): Promise<void> {
    for (let made = 0; made < count; made += 1) {
      const message = webhookMessage(eventNamed(`${endpoint.id}-${made}`, START_MS));
      const now = newDelivery(systemDigest, ownerOf(endpoint), endpoint, message, this.clock.nowMs() - 3 * MINUTE_MS);
      await this.store.write({ deliveries: [{ now }] });
    }
  }

  publish(endpoint: WebhookEndpoint, name: string): Promise<unknown> {
    return fanOut(this.tools, eventNamed(name, this.clock.nowMs(), 'payment.completed', ownerOf(endpoint)));
  }

  update(endpoint: WebhookEndpoint, change: EndpointChange): Promise<unknown> {
    const addresses = { refusal: async () => undefined };
    const acted = { owner: ownerOf(endpoint), cause: BY_REQUEST, endpointId: endpoint.id };
    return updateEndpoint({ ...this.tools, addresses }, { ...acted, change });
  }

  async pass(minutes: number): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) {
      await sweepWebhooks({ ...this.tools, webhooks: this.store, due: this.store });
      await this.clock.until(this.clock.nowMs() + MINUTE_MS);
    }
  }

  async deliveriesOf({ id }: WebhookEndpoint, limit = 2_000): Promise<readonly Delivery[]> {
    return this.store.listDeliveries(id, { limit });
  }

  async #post({ url, headers }: WebhookRequest, late: readonly Late[]) {
    this.calls += 1;
    const takes = this.answersIn.get(url) ?? 0;
    if (takes === 'hangs') {
      await receiverTakes(this.clock, 10 * SECOND_MS, late);
      return { kind: 'unanswered', error: 'timeout' } as const;
    }
    if (takes === 'fails') return { kind: 'answered', status: 500, excerpt: '' } as const;
    await receiverTakes(this.clock, takes, late);
    this.arrivals.push({ url, eventId: headers['webhook-id'] ?? '', atMs: this.clock.nowMs() });
    return { kind: 'answered', status: 204, excerpt: '' } as const;
  }

  async #enqueue(tasks: readonly GroupedTask[], delaySeconds: number): Promise<void> {
    const add = (): void => {
      for (const each of tasks) this.#queues[each.task.kind === 'attempt' ? 'attempt' : 'other'].push(each);
      this.mostMessages = Math.max(this.mostMessages, this.#queues.attempt.length);
      this.#work('attempt', TASKS);
      this.#work('other', LANES);
    };
    if (delaySeconds === 0) add();
    else void this.clock.sleep(delaySeconds * SECOND_MS).then(add);
  }

  #work(queue: 'attempt' | 'other', { batch, atOnce }: typeof TASKS): void {
    const running = this.#running[queue];
    while (running.length < atOnce && this.#queues[queue].length > 0) {
      const taken = this.#take(this.#queues[queue], running, batch);
      running.push(taken);
      void this.#execute(taken).finally(() => {
        running.splice(running.indexOf(taken), 1);
        this.#work(queue, { batch, atOnce });
      });
    }
  }

  #take(waiting: GroupedTask[], running: readonly (readonly GroupedTask[])[], batch: number): readonly GroupedTask[] {
    if (!this.isFair) return waiting.splice(0, batch);
    const taken: GroupedTask[] = [];
    while (taken.length < batch) {
      const next = nextOfFairQueue(waiting, [...running.flat(), ...taken]);
      if (next === undefined) break;
      taken.push(next);
      waiting.splice(waiting.indexOf(next), 1);
    }
    return taken;
  }

  async #execute(tasks: readonly GroupedTask[]): Promise<void> {
    await this.clock.sleep(WORK_MS);
    const Records = tasks.map(({ task }, index) => ({
      messageId: String(index),
      body: JSON.stringify(task),
      attributes: { ApproximateReceiveCount: '1' },
      messageAttributes: {},
    }));
    const { batchItemFailures } = await runWebhookTasks(this.tools, { Records } as SQSEvent);
    for (const { itemIdentifier } of batchItemFailures) this.failedMessages.push(tasks[Number(itemIdentifier)]?.task);
  }
}

/** Each endpoint has its own tenant. */
export function ownerOf({ id }: WebhookEndpoint) {
  return { tenantId: tenantId(`ten_${id.slice(3, 20)}`), mode: 'test' } as const;
}

export const HANGING = endpointNamed('hanging');
export const NORMAL = endpointNamed('normal');
