import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute } from '../../kernel/contract/tables.ts';
import { tenantId } from '../../kernel/ids.ts';
import { type Item, itemSchema, shardOf } from '../../kernel/platform/items.ts';
import { type Attempt, DELIVERY_KEPT_SECONDS, type Delivery } from '../domain/webhook-delivery.ts';
import {
  type Disabled,
  type EndpointBook,
  WEBHOOK_EVENT_TYPES,
  type WebhookEndpoint,
  type WebhookOwner,
} from '../domain/webhook-endpoint.ts';
import type { WebhookReplay } from '../domain/webhook-replay.ts';
import type { WebhookTask } from '../use/webhooks.ts';

/** Shards of the due queue: an outage of receivers makes many due rows, and the sweep reads them every minute. */
export const DUE_SHARDS = 8;
const TIME_DIGITS = 13;

const owner = { tenantId: z.string().transform(tenantId), mode: z.enum(['test', 'live']) };
const wanted = z.array(z.enum([...WEBHOOK_EVENT_TYPES, '*']));

const bookItem = itemSchema<EndpointBook>()({
  ...owner,
  revision: z.int().min(1),
  endpoints: z.array(
    itemSchema<WebhookEndpoint>()({
      id: z.string(),
      url: z.string(),
      events: wanted,
      description: z.string().exactOptional(),
      disabled: itemSchema<Disabled>()({
        atMs: z.int(),
        reason: z.enum(['requested', 'gone', 'failing']),
      }).exactOptional(),
      secrets: z.array(z.object({ root: z.string(), version: z.int(), expiresAtMs: z.int().exactOptional() })),
      createdAtMs: z.int(),
    }),
  ),
});

const deliveryItem = itemSchema<Delivery>()({
  ...owner,
  id: z.string(),
  endpointId: z.string(),
  eventId: z.string(),
  type: z.string(),
  occurredAtMs: z.int(),
  body: z.string().exactOptional(),
  revision: z.int().min(1),
  status: z.enum(['pending', 'delivered', 'failed', 'canceled']),
  tries: z.int(),
  dueAtMs: z.int().exactOptional(),
  extra: z.literal(true).exactOptional(),
  running: z.literal(true).exactOptional(),
  attempts: z.array(
    itemSchema<Attempt>()({
      startedAtMs: z.int(),
      durationMs: z.int(),
      status: z.int().exactOptional(),
      error: z.string().exactOptional(),
    }),
  ),
  excerpt: z.string().exactOptional(),
  createdAtMs: z.int(),
  deliveredAtMs: z.int().exactOptional(),
});

const replayItem = itemSchema<WebhookReplay>()({
  ...owner,
  id: z.string(),
  endpointId: z.string(),
  revision: z.int().min(1),
  status: z.enum(['running', 'completed', 'canceled']),
  fromMs: z.int(),
  untilMs: z.int(),
  events: wanted.exactOptional(),
  cursor: z.string().exactOptional(),
  sent: z.int(),
  dueAtMs: z.int().exactOptional(),
  createdAtMs: z.int(),
});

const dueItem = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('attempt'), endpointId: z.string(), deliveryId: z.string() }),
  z.object({ kind: z.literal('replay'), replayId: z.string() }),
]);

export function bookKey({ tenantId: tenant, mode }: WebhookOwner): Item {
  return {
    [KeyAttribute.partition]: `${RegistryRow.webhookEndpoints}${tenant}#${mode}`,
    [KeyAttribute.sort]: 'ENDPOINTS',
  };
}

export function bookRow(book: EndpointBook): Item {
  return { ...bookKey(book), ...book };
}

export function parseBook(item: Item): EndpointBook {
  return bookItem.parse(item);
}

export function deliveriesPartition(endpointId: string): string {
  return `${RegistryRow.webhookDelivery}${endpointId}`;
}

export function deliveryKey(delivery: Pick<Delivery, 'endpointId' | 'id'>): Item {
  return { [KeyAttribute.partition]: deliveriesPartition(delivery.endpointId), [KeyAttribute.sort]: delivery.id };
}

/** The expiry counts from the latest due time, so a pending delivery does not expire. */
export function deliveryRow(delivery: Delivery): Item {
  const fromMs = Math.max(delivery.createdAtMs, delivery.dueAtMs ?? 0);
  return { ...deliveryKey(delivery), ...delivery, ...expiry(fromMs) };
}

export function parseDelivery(item: Item): Delivery {
  return deliveryItem.parse(item);
}

export function replayKey(id: string): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.webhookReplay}${id}`, [KeyAttribute.sort]: 'REPLAY' };
}

export function replayRow(replay: WebhookReplay): Item {
  return { ...replayKey(replay.id), ...replay, ...expiry(Math.max(replay.createdAtMs, replay.dueAtMs ?? 0)) };
}

export function parseReplay(item: Item): WebhookReplay {
  return replayItem.parse(item);
}

function expiry(fromMs: number): Item {
  return { [IdempotencyTable.timeToLiveAttribute]: Math.ceil(fromMs / 1000) + DELIVERY_KEPT_SECONDS };
}

export function duePartition(shard: number): string {
  return `${RegistryRow.webhookDue}${shard}`;
}

/** Key of the due row of a task that is due at `dueAtMs`. */
export function dueKey(task: WebhookTask, dueAtMs: number): Item {
  const name = task.kind === 'attempt' ? `${task.endpointId}#${task.deliveryId}` : task.replayId;
  return {
    [KeyAttribute.partition]: duePartition(shardOf(name) % DUE_SHARDS),
    [KeyAttribute.sort]: `${dueTime(dueAtMs)}#${name}`,
  };
}

export function dueTime(ms: number): string {
  return String(ms).padStart(TIME_DIGITS, '0');
}

export function parseDue(item: Item): WebhookTask {
  return dueItem.parse(item);
}
