import type { OperationId } from '../../lambdas/kernel/ids.ts';
import type { EffectRecord } from '../../lambdas/once/domain/idempotency.ts';
import type { Delivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import type { EndpointBook, WebhookOwner } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import type { WebhookReplay } from '../../lambdas/webhooks/domain/webhook-replay.ts';
import type {
  DeliveryPage,
  DueWebhooks,
  Revised,
  WebhookChange,
  WebhookChangeOutcome,
  WebhookStore,
  WebhookTask,
} from '../../lambdas/webhooks/use/webhooks.ts';

/** An in-memory WebhookStore for simulations. Every call is atomic, as a DynamoDB transaction is. The same contract suite tests it. */
export class MemoryWebhooks implements WebhookStore, DueWebhooks {
  readonly #effects = new Map<OperationId, EffectRecord>();
  readonly #books = new Map<string, EndpointBook>();
  readonly #deliveries = new Map<string, Delivery>();
  readonly #replays = new Map<string, WebhookReplay>();

  async write({ record, book, deliveries = [], replay }: WebhookChange): Promise<WebhookChangeOutcome> {
    const existing = record === undefined ? undefined : this.#effects.get(record.operationId);
    if (existing !== undefined) {
      return existing.owner === record?.owner ? { kind: 'written' } : { kind: 'recorded_before', record: existing };
    }
    const holds =
      (book === undefined || isAsRead(book, this.#books.get(ownerKey(book.now)))) &&
      deliveries.every((each) => isAsRead(each, this.#deliveries.get(deliveryKey(each.now)))) &&
      (replay === undefined || isAsRead(replay, this.#replays.get(replay.now.id)));
    if (!holds) return { kind: 'changed' };
    if (record !== undefined) this.#effects.set(record.operationId, record);
    if (book !== undefined) this.#books.set(ownerKey(book.now), book.now);
    for (const { now } of deliveries) this.#deliveries.set(deliveryKey(now), now);
    if (replay !== undefined) this.#replays.set(replay.now.id, replay.now);
    return { kind: 'written' };
  }

  async readEffect(operationId: OperationId): Promise<EffectRecord | undefined> {
    return this.#effects.get(operationId);
  }

  async readBook(owner: WebhookOwner): Promise<EndpointBook> {
    const { tenantId, mode } = owner;
    return this.#books.get(ownerKey(owner)) ?? { tenantId, mode, revision: 0, endpoints: [] };
  }

  async readDelivery(endpointId: string, deliveryId: string): Promise<Delivery | undefined> {
    return this.#deliveries.get(`${endpointId} ${deliveryId}`);
  }

  async listDeliveries(endpointId: string, { after, limit }: DeliveryPage): Promise<readonly Delivery[]> {
    return [...this.#deliveries.values()]
      .filter((delivery) => delivery.endpointId === endpointId && (after === undefined || delivery.id < after))
      .sort((left, right) => (left.id < right.id ? 1 : -1))
      .slice(0, limit);
  }

  async readReplay(replayId: string): Promise<WebhookReplay | undefined> {
    return this.#replays.get(replayId);
  }

  async due(nowMs: number, limit: number): Promise<readonly WebhookTask[]> {
    const due: (WebhookTask & { readonly atMs: number })[] = [];
    for (const { dueAtMs, endpointId, id } of this.#deliveries.values()) {
      if (dueAtMs !== undefined) due.push({ kind: 'attempt', endpointId, deliveryId: id, atMs: dueAtMs });
    }
    for (const { dueAtMs, id } of this.#replays.values()) {
      if (dueAtMs !== undefined) due.push({ kind: 'replay', replayId: id, atMs: dueAtMs });
    }
    return due
      .filter(({ atMs }) => atMs <= nowMs)
      .sort((left, right) => left.atMs - right.atMs)
      .slice(0, limit)
      .map(({ atMs: _atMs, ...task }) => task);
  }
}

function isAsRead<Row extends { readonly revision: number }>({ was }: Revised<Row>, found: Row | undefined): boolean {
  return (was?.revision ?? 0) === (found?.revision ?? 0);
}

function ownerKey({ tenantId, mode }: WebhookOwner): string {
  return JSON.stringify([tenantId, mode]);
}

function deliveryKey({ endpointId, id }: Delivery): string {
  return `${endpointId} ${id}`;
}
