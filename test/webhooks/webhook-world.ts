import type { AnyEvent, PayonceEvent } from '../../lambdas/events/domain/event.ts';
import type { AttemptResult, Delivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import type { WebhookEndpoint, WebhookOwner } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { fanOut, webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { replayPage } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import { type SendOutcome, sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import { sweepWebhooks } from '../../lambdas/webhooks/use/sweep-webhooks.ts';
import { runLane } from '../../lambdas/webhooks/use/webhook-lanes.ts';
import type { PastEvents, WebhookRequest } from '../../lambdas/webhooks/use/webhooks.ts';
import { type Actor, Crash } from '../support/fault-plan.ts';
import { PORT_ERRORS } from '../support/faulty-ports.ts';
import { World, type WorldOptions } from '../world/world.ts';
import { OWNER, SECRETS } from './webhook-fixtures.ts';

interface Arrival extends WebhookRequest {
  readonly atMs: number;
  /** Whether any delivery was already recorded as delivered when the request arrived. */
  readonly afterSuccess: boolean;
}

export class WebhookWorld extends World {
  readonly arrivals: Arrival[] = [];
  answer: (request: WebhookRequest) => AttemptResult = () => ({ kind: 'answered', status: 204, excerpt: '' });
  /** Events that a replay finds. */
  past: readonly PayonceEvent[] = [];
  secrets = SECRETS;
  readonly published: AnyEvent[] = [];
  isBusDown = false;
  /** By delivery id. Counted only for in-memory tables. */
  readonly successes = new Map<string, number>();
  /** By event id. */
  readonly #bodies = new Map<string, string>();

  constructor(options: WorldOptions = {}) {
    super(options);
    this.store.database.listen?.((changes) => {
      for (const { before, after } of changes) {
        if (after?.['status'] !== 'delivered' || before?.['status'] === 'delivered') continue;
        const id = after['id'] as string;
        this.successes.set(id, (this.successes.get(id) ?? 0) + 1);
      }
    });
  }

  async addEndpoints(endpoints: readonly WebhookEndpoint[], owner: WebhookOwner = OWNER): Promise<void> {
    const { webhooks } = this.store;
    const was = await webhooks.readBook(owner);
    const now = { ...was, revision: was.revision + 1, endpoints: [...was.endpoints, ...endpoints] };
    await webhooks.write({ book: { was, now } });
  }

  webhookTools(actor: Actor) {
    return {
      ...this.basics,
      ...this.portsOf(actor),
      tasks: this.tasksOf(actor),
      secrets: this.secrets,
      transport: {
        post: async (request: WebhookRequest): Promise<AttemptResult> => {
          const ended = await actor.run(() => actor.call('post', PORT_ERRORS, async () => this.#arrive(request)));
          if ('result' in ended) return ended.result;
          // Only a crash is thrown, because the port reports a receiver's failure as a result.
          if (ended.error instanceof Crash) throw ended.error;
          return { kind: 'unanswered', error: 'timeout' };
        },
      },
      pastEvents: (range: Parameters<PastEvents>[0]) => actor.call('past', PORT_ERRORS, () => this.#pastPage(range)),
      bodies: (id: string) => actor.call('body', PORT_ERRORS, async () => this.#bodies.get(id)),
    };
  }

  appendToLedger({ event }: PayonceEvent): void {
    this.#bodies.set(event.id, JSON.stringify(event));
  }

  async publish(event: PayonceEvent): Promise<void> {
    this.appendToLedger(event);
    await this.until('fan-out', (actor) => fanOut(this.webhookTools(actor), event));
  }

  async until(name: string, work: (actor: Actor) => Promise<unknown>, tries = 5): Promise<boolean> {
    for (let attempt = 0; attempt < tries; attempt += 1) {
      if (await this.#succeeds(name, work)) return true;
    }
    return false;
  }

  /** A message whose process failed is redelivered once. */
  async drain(): Promise<readonly SendOutcome[]> {
    const outcomes: SendOutcome[] = [];
    for (let messages = 0; messages < 2_000; messages += 1) {
      const task = this.takeDue();
      if (task === undefined || 'runId' in task) break;
      const work = async (actor: Actor): Promise<void> => {
        const tools = this.webhookTools(actor);
        if (task.kind === 'replay') await replayPage(tools, task.replayId);
        else if (task.kind === 'lane') outcomes.push(...(await runLane(tools, task.endpointId)));
        else outcomes.push(await sendWebhook(tools, task.endpointId, task.deliveryId));
      };
      await this.until('sender', work, 2);
    }
    return outcomes;
  }

  sweep(): Promise<number> {
    const { webhooks } = this.store;
    return sweepWebhooks({
      webhooks,
      due: webhooks,
      clock: this.clock,
      tasks: this.tasks,
      publish: async (events) => {
        if (this.isBusDown) return events.map(() => ({ kind: 'not_now', code: 'bus_ambiguous' }));
        this.published.push(...events);
        return events.map(() => ({ kind: 'published' }));
      },
      waiting: () => undefined,
      report: (error) => {
        throw error;
      },
    });
  }

  async pass(minutes: number): Promise<void> {
    for (let minute = 0; minute < minutes; minute += 1) await this.#passUntil(this.clock.nowMs() + 60_000);
  }

  /** @returns false if nothing is due */
  async jump(deliveries: () => Promise<readonly Delivery[]>): Promise<boolean> {
    const due = (await deliveries()).flatMap(({ sweepAtMs, leaseExpiresAtMs = 0 }) =>
      sweepAtMs === undefined ? [] : [Math.max(sweepAtMs, leaseExpiresAtMs)],
    );
    if (due.length > 0) await this.#passUntil(Math.min(...due));
    return due.length > 0;
  }

  async #passUntil(atMs: number): Promise<void> {
    this.clock.advance(Math.max(0, atMs - this.clock.nowMs()));
    await this.sweep();
    await this.drain();
  }

  async #succeeds(name: string, work: (actor: Actor) => Promise<unknown>): Promise<boolean> {
    const actor = this.actor(name);
    const ended = await actor.run(() => work(actor));
    return 'result' in ended && !actor.crashed;
  }

  #arrive(request: WebhookRequest): AttemptResult {
    this.arrivals.push({ ...request, atMs: this.clock.nowMs(), afterSuccess: this.successes.size > 0 });
    return this.answer(request);
  }

  async #pastPage({ fromMs, untilMs, tenantId, mode, cursor = '0' }: Parameters<PastEvents>[0]) {
    for (const event of this.past) this.appendToLedger(event);
    const owned = this.past.filter(
      ({ tenant, occurredAtMs, ...event }) =>
        tenant === tenantId && event.mode === mode && occurredAtMs >= fromMs && occurredAtMs < untilMs,
    );
    const from = Number(cursor);
    const events = owned.slice(from, from + 2).map(webhookMessage);
    return from + 2 < owned.length ? { events, cursor: String(from + 2) } : { events };
  }
}
