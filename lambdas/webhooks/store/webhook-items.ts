import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute, RegistryTable } from '../../kernel/contract/tables.ts';
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

/**
 * Parts of the deliveries of one endpoint, and of the due queue. A delivery costs three units in its partition (made, claimed,
 * finished) and two in the queue, so a thousand a second of one endpoint stay below half of what a partition takes.
 */
export const WEBHOOK_SHARDS = 8;

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
  leaseExpiresAtMs: z.int().exactOptional(),
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

/** An entry of the due queue is the key of its row. */
const dueEntry = z.object({
  [KeyAttribute.partition]: z
    .string()
    .regex(new RegExp(`^(${RegistryRow.webhookDelivery}[^#]+#\\d+|${RegistryRow.webhookReplay}[^#]+)$`)),
  [KeyAttribute.sort]: z.string(),
});

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

/** Sorted by the time of their events in each shard. */
export function deliveriesPartition(endpointId: string, shard: number): string {
  return `${RegistryRow.webhookDelivery}${endpointId}#${shard}`;
}

export function deliveryKey({ endpointId, id }: Pick<Delivery, 'endpointId' | 'id'>): Item {
  return {
    [KeyAttribute.partition]: deliveriesPartition(endpointId, shardOf(id) % WEBHOOK_SHARDS),
    [KeyAttribute.sort]: id,
  };
}

/** The expiry counts from the latest due time, so a pending delivery does not expire. */
export function deliveryRow(delivery: Delivery): Item {
  const fromMs = Math.max(delivery.createdAtMs, delivery.dueAtMs ?? 0);
  return { ...deliveryKey(delivery), ...delivery, ...expiry(fromMs), ...dueIn(delivery) };
}

export function parseDelivery(item: Item): Delivery {
  return deliveryItem.parse(item);
}

export function replayKey(id: string): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.webhookReplay}${id}`, [KeyAttribute.sort]: 'REPLAY' };
}

export function replayRow(replay: WebhookReplay): Item {
  const fromMs = Math.max(replay.createdAtMs, replay.dueAtMs ?? 0);
  return { ...replayKey(replay.id), ...replay, ...expiry(fromMs), ...dueIn(replay) };
}

export function parseReplay(item: Item): WebhookReplay {
  return replayItem.parse(item);
}

function expiry(fromMs: number): Item {
  return { [IdempotencyTable.timeToLiveAttribute]: Math.ceil(fromMs / 1000) + DELIVERY_KEPT_SECONDS };
}

export function duePartition(shard: number): string {
  return String(shard);
}

/** Puts the row into the due queue while it has a due time. */
function dueIn({ id, dueAtMs }: { readonly id: string; readonly dueAtMs?: number }): Item {
  if (dueAtMs === undefined) return {};
  return { [RegistryTable.dueIndex.partitionKey]: duePartition(shardOf(id) % WEBHOOK_SHARDS) };
}

export function parseDue(item: Item): WebhookTask {
  const { pk, sk } = dueEntry.parse(item);
  const [kind, id = ''] = pk.split('#');
  return `${kind}#` === RegistryRow.webhookReplay
    ? { kind: 'replay', replayId: id }
    : { kind: 'attempt', endpointId: id, deliveryId: sk };
}
