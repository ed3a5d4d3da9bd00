import * as z from 'zod';
import { QueueRow, RegistryRow } from '../../kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute, RegistryTable } from '../../kernel/contract/tables.ts';
import { tenantId } from '../../kernel/ids.ts';
import { type Item, itemSchema, shardOf } from '../../kernel/platform/items.ts';
import { shardsAt } from '../../kernel/platform/shards.ts';
import { type Attempt, DELIVERY_KEPT_SECONDS, type Delivery, eventTimeOf } from '../domain/webhook-delivery.ts';
import {
  type Disabled,
  type EndpointList,
  failingSince,
  groupOf,
  type SlowAttempts,
  WEBHOOK_EVENT_TYPES,
  type WebhookEndpoint,
  type WebhookOwner,
} from '../domain/webhook-endpoint.ts';
import type { WebhookLane } from '../domain/webhook-lane.ts';
import type { WebhookNotice } from '../domain/webhook-notice.ts';
import type { WebhookReplay } from '../domain/webhook-replay.ts';
import type { DueTask, DueWebhook, MovedWebhook } from '../use/webhooks.ts';

const owner = { tenantId: z.string().transform(tenantId), mode: z.enum(['test', 'live']) };
const wanted = z.array(z.enum([...WEBHOOK_EVENT_TYPES, '*']));

const bookItem = itemSchema<EndpointList>()({
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
      rotations: z.array(z.string()).exactOptional(),
      failing: z.object({ sinceMs: z.int() }).exactOptional(),
      changes: z.int().exactOptional(),
      slow: z.object({ sinceMs: z.int() }).exactOptional(),
      replay: z.string().exactOptional(),
      createdAtMs: z.int(),
    }),
  ),
  late: itemSchema<SlowAttempts>()({
    sinceMs: z.int(),
    blockedAtMs: z.int().exactOptional(),
    apartUntilMs: z.int().exactOptional(),
  }).exactOptional(),
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
  sweepAtMs: z.int().exactOptional(),
  apart: z.literal(true).exactOptional(),
  leaseExpiresAtMs: z.int().exactOptional(),
  extra: z.literal(true).exactOptional(),
  running: z.literal(true).exactOptional(),
  resends: z.array(z.string()).exactOptional(),
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
  onlyUndelivered: z.literal(true).exactOptional(),
  cursor: z.string().exactOptional(),
  sent: z.int(),
  dueAtMs: z.int().exactOptional(),
  sweepAtMs: z.int().exactOptional(),
  createdAtMs: z.int(),
});

const laneItem = itemSchema<WebhookLane>()({
  ...owner,
  endpointId: z.string(),
  revision: z.int().min(1),
  hung: z.int(),
  wokenAtMs: z.int(),
  emptySinceMs: z.int().exactOptional(),
  dueAtMs: z.int().exactOptional(),
  sweepAtMs: z.int().exactOptional(),
  leaseExpiresAtMs: z.int().exactOptional(),
});

const noticeItem = itemSchema<WebhookNotice>()({
  ...owner,
  eventId: z.string(),
  type: z.string(),
  occurredAtMs: z.int(),
  body: z.string(),
  endpointId: z.string(),
  revision: z.int().min(1),
  dueAtMs: z.int(),
  sweepAtMs: z.int(),
});

const dueEntry = z.object({
  [KeyAttribute.partition]: z
    .string()
    .regex(
      new RegExp(
        `^(${RegistryRow.webhookDelivery}[^#]+#\\d+|(?:${RegistryRow.webhookReplay}|${RegistryRow.webhookLane}|${RegistryRow.webhookNotice})[^#]+)$`,
      ),
    ),
  [KeyAttribute.sort]: z.string(),
  [RegistryTable.dueIndex.sortKey]: z.int(),
});

export function bookKey({ tenantId: tenant, mode }: WebhookOwner): Item {
  return {
    [KeyAttribute.partition]: `${RegistryRow.webhookEndpoints}${tenant}#${mode}`,
    [KeyAttribute.sort]: 'ENDPOINTS',
  };
}

/**
 * Index partition of the endpoint lists that contain a failing endpoint, or an endpoint that Payonce disabled. One
 * partition is enough, because these lists change rarely.
 */
export const FAILING_PARTITION = `${QueueRow.failingEndpoints}0`;

/** The row is in the index `queues` while {@link failingSince} returns a time for one of its endpoints. */
export function bookRow(book: EndpointList): Item {
  const { partitionKey, sortKey } = RegistryTable.queuesIndex;
  const since = book.endpoints.flatMap((endpoint) => failingSince(endpoint) ?? []);
  const listed = since.length === 0 ? {} : { [partitionKey]: FAILING_PARTITION, [sortKey]: Math.min(...since) };
  return { ...bookKey(book), ...book, ...listed };
}

export function parseBook(item: Item): EndpointList {
  return bookItem.parse(item);
}

/** The partition sorts its deliveries by the time of their events. */
export function deliveriesPartition(endpointId: string, shard: number): string {
  return `${RegistryRow.webhookDelivery}${endpointId}#${shard}`;
}

/** The deliveries of each endpoint are divided into shards. */
function deliveryShard(id: string): number {
  return shardOf(id, shardsAt(eventTimeOf(id)).deliveries);
}

export function deliveryKey({ endpointId, id }: Pick<Delivery, 'endpointId' | 'id'>): Item {
  return {
    [KeyAttribute.partition]: deliveriesPartition(endpointId, deliveryShard(id)),
    [KeyAttribute.sort]: id,
  };
}

/**
 * The row's lifetime starts at the creation of the delivery or at its due time, whichever is later, so a pending
 * delivery does not expire.
 */
export function deliveryRow(delivery: Delivery): Item {
  const fromMs = Math.max(delivery.createdAtMs, delivery.dueAtMs ?? 0);
  return { ...deliveryKey(delivery), ...delivery, ...expiry(fromMs), ...dueIn(delivery, delivery.id) };
}

export function parseDelivery(item: Item): Delivery {
  return deliveryItem.parse(item);
}

export function replayKey(id: string): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.webhookReplay}${id}`, [KeyAttribute.sort]: 'REPLAY' };
}

export function replayRow(replay: WebhookReplay): Item {
  const fromMs = Math.max(replay.createdAtMs, replay.dueAtMs ?? 0);
  return { ...replayKey(replay.id), ...replay, ...expiry(fromMs), ...dueIn(replay, replay.id) };
}

export function parseReplay(item: Item): WebhookReplay {
  return replayItem.parse(item);
}

function expiry(fromMs: number): Item {
  return { [IdempotencyTable.timeToLiveAttribute]: Math.ceil(fromMs / 1000) + DELIVERY_KEPT_SECONDS };
}

export function laneKey(endpointId: string): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.webhookLane}${endpointId}`, [KeyAttribute.sort]: 'LANE' };
}

export function laneRow(lane: WebhookLane): Item {
  const fromMs = Math.max(lane.wokenAtMs, lane.dueAtMs ?? 0);
  return { ...laneKey(lane.endpointId), ...lane, ...expiry(fromMs), ...dueIn(lane, lane.endpointId) };
}

export function parseLane(item: Item): WebhookLane {
  return laneItem.parse(item);
}

function noticeKey(eventId: string): Item {
  return { [KeyAttribute.partition]: `${RegistryRow.webhookNotice}${eventId}`, [KeyAttribute.sort]: 'NOTICE' };
}

export function noticeRow(notice: WebhookNotice): Item {
  const { eventId, dueAtMs } = notice;
  return { ...noticeKey(eventId), ...notice, ...expiry(dueAtMs), ...dueIn(notice, eventId) };
}

export function parseNotice(item: Item): WebhookNotice {
  return noticeItem.parse(item);
}

/**
 * @param lane the endpoint whose lane contains the rows
 * @default the sweep queue
 */
export function duePartition(shard: number, lane?: string): string {
  return lane === undefined ? String(shard) : `${lane}#${shard}`;
}

interface Due {
  readonly dueAtMs?: number;
  readonly apart?: true;
  readonly endpointId: string;
}

function dueIn({ dueAtMs, apart, endpointId }: Due, id: string): Item {
  if (dueAtMs === undefined) return {};
  const partition =
    apart === true
      ? lanePartition({ endpointId, deliveryId: id })
      : duePartition(shardOf(id, shardsAt(dueAtMs).dueWebhooks));
  return { [RegistryTable.dueIndex.partitionKey]: partition };
}

export function parseDue(item: Item): DueWebhook {
  const { pk, sk, [RegistryTable.dueIndex.sortKey]: sweepAtMs } = dueEntry.parse(item);
  const [kind, id = ''] = pk.split('#');
  if (`${kind}#` === RegistryRow.webhookReplay) return { task: { kind: 'replay', replayId: id }, sweepAtMs };
  if (`${kind}#` === RegistryRow.webhookLane) return { task: { kind: 'lane', endpointId: id }, sweepAtMs };
  if (`${kind}#` === RegistryRow.webhookNotice) return { task: { kind: 'notice', eventId: id }, sweepAtMs };
  return { task: { kind: 'attempt', endpointId: id, deliveryId: sk }, sweepAtMs };
}

export function keyOfTask(task: DueTask): Item {
  switch (task.kind) {
    case 'attempt':
      return deliveryKey({ endpointId: task.endpointId, id: task.deliveryId });
    case 'replay':
      return replayKey(task.replayId);
    case 'lane':
      return laneKey(task.endpointId);
    case 'notice':
      return noticeKey(task.eventId);
  }
}

const owned = z.object({ ...owner, dueAtMs: z.number() });

/**
 * @returns the group `unreadable` when the row has no valid owner or due time, because even such a row must be queued
 */
export function movedRow(row: Item = {}): MovedWebhook {
  const { success, data } = owned.safeParse(row);
  if (!success) return { group: 'unreadable' };
  const moved = { group: groupOf(data), dueAtMs: data.dueAtMs };
  const isNotice = String(row[KeyAttribute.partition]).startsWith(RegistryRow.webhookNotice);
  const notice = isNotice ? noticeItem.safeParse(row).data : undefined;
  return notice === undefined ? moved : { ...moved, notice };
}

export function lanePartition({
  endpointId,
  deliveryId,
}: {
  readonly endpointId: string;
  readonly deliveryId: string;
}): string {
  return duePartition(deliveryShard(deliveryId), endpointId);
}
