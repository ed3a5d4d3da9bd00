import type { AnyEvent } from '../../events/domain/event.ts';
import type { PublishOutcome } from '../../events/use/event-publisher.ts';
import type { Piece } from '../../jobs/use/pieces-job.ts';
import { LONGEST_WAIT_MS } from '../../kernel/contract/timing.ts';
import { TerminalError } from '../../kernel/faults.ts';
import type { Clock } from '../../kernel/world.ts';
import type { Delivery } from '../domain/webhook-delivery.ts';
import { groupOf } from '../domain/webhook-endpoint.ts';
import { endpointEvent, type WebhookNotice } from '../domain/webhook-notice.ts';
import { wakeLane } from './wake-lane.ts';
import type { DueWebhook, DueWebhooks, GroupedTask, WebhookStore, WebhookTask, WebhookTasks } from './webhooks.ts';

export interface SweepWebhooksTools {
  readonly webhooks: WebhookStore;
  readonly due: DueWebhooks;
  readonly tasks: WebhookTasks;
  /** @returns an outcome for each event, in order */
  readonly publish: (events: readonly AnyEvent[]) => Promise<readonly PublishOutcome[]>;
  readonly clock: Pick<Clock, 'nowMs'>;
  /**
   * Called with the number of rows that have been due for at least {@link LONGEST_WAIT_MS}. Not called if there are
   * none.
   */
  readonly waiting: (rows: number) => void;
  /** Called with the error of a lane that cannot be woken. The deliveries of other endpoints are still queued. */
  readonly report: (error: unknown) => void;
}

/** Number of rows that are moved and queued together. */
const PAGE = 400;
/** Maximum number of pages per run (200 × 400 = 80,000 rows). Limits a run without a deadline. */
const MAX_PAGES = 200;
/** Duration of a round, in milliseconds: the time after which a row is queued again if it is still due. */
const ROUND_MS = 10 * 60_000;
/** Maximum number of deliveries that a run queues for each endpoint. The others move to the endpoint's lane. */
const SHARE = 100;

/**
 * Queues due tasks: retries with long waits, and tasks whose message was lost. Publishes the events about endpoints'
 * states. Each row is first moved to a later time, so it is handled once per round, and a backlog does not hide later
 * rows. A task that is queued twice takes effect once, and an event that is published twice has the same id.
 *
 * @returns the number of rows that were moved to a later time or to a lane
 */
export async function sweepWebhooks(tools: SweepWebhooksTools, deadlineMs = Infinity): Promise<number> {
  const { due, tasks, clock } = tools;
  const shares = new Map<string, number>();
  const lanes: Lanes = new Map();
  let swept = 0;
  let waiting = 0;
  for (let page = 0; page < MAX_PAGES && clock.nowMs() < deadlineMs; page += 1) {
    const found = await due.due(clock.nowMs(), PAGE);
    const excess = found.filter(({ task }) => task.kind === 'attempt' && counted(shares, task.endpointId) > SHARE);
    for (const { task } of excess) if (task.kind === 'attempt') await openLane(tools, lanes, task);
    const moved = await Promise.all(found.map((each) => take(tools, each, lanes, excess.includes(each))));
    const here = moved.filter((each) => each !== undefined);
    const dueBeforeMs = clock.nowMs() - LONGEST_WAIT_MS;
    waiting += here.filter(({ dueAtMs = Infinity }) => dueAtMs <= dueBeforeMs).length;
    await tasks.enqueue(
      here.flatMap(({ queue }) => queue),
      0,
    );
    await publishNotices(
      tools,
      here.flatMap(({ notice }) => notice ?? []),
    );
    const { length } = here;
    swept += length;
    // The index lags behind and may still contain rows that were moved by a rival or with the previous page. The sweep
    // ends when it could move no row of a page.
    if (length === 0) break;
  }
  await tasks.enqueue(
    [...lanes.values()].flatMap((lane) => lane ?? []),
    0,
  );
  if (waiting > 0) tools.waiting(waiting);
  return swept;
}

function counted(shares: Map<string, number>, endpointId: string): number {
  const share = (shares.get(endpointId) ?? 0) + 1;
  shares.set(endpointId, share);
  return share;
}

/** Undefined for a lane that could not be woken. */
type Lanes = Map<string, GroupedTask | undefined>;

/**
 * If the delivery cannot be read, its owner is unknown: it wakes no lane and is queued as usual. If the lane cannot be
 * woken, the excess deliveries of its endpoint wait for a later round.
 */
async function openLane(
  tools: SweepWebhooksTools,
  lanes: Lanes,
  { endpointId, deliveryId }: Extract<WebhookTask, { readonly kind: 'attempt' }>,
): Promise<void> {
  if (lanes.has(endpointId)) return;
  const delivery = await readableDelivery(tools, endpointId, deliveryId);
  if (delivery === undefined) return;
  try {
    await wakeLane(tools, delivery, endpointId);
    lanes.set(endpointId, { task: { kind: 'lane', endpointId }, group: groupOf(delivery) });
  } catch (error) {
    tools.report(error);
    lanes.set(endpointId, undefined);
  }
}

/** The sender parks a delivery that cannot be read. */
async function readableDelivery(
  { webhooks }: SweepWebhooksTools,
  endpointId: string,
  deliveryId: string,
): Promise<Delivery | undefined> {
  try {
    return await webhooks.readDelivery(endpointId, deliveryId);
  } catch (error) {
    if (error instanceof TerminalError && error.code === 'row_unreadable') return undefined;
    throw error;
  }
}

/** An event that the bus does not accept now is published in the next round. */
async function publishNotices({ due, publish }: SweepWebhooksTools, notices: readonly WebhookNotice[]): Promise<void> {
  if (notices.length === 0) return;
  const outcomes = await publish(notices.map(endpointEvent));
  const published = notices.filter((_, index) => outcomes[index]?.kind === 'published');
  await Promise.all(published.map(({ eventId }) => due.finish(eventId)));
}

interface Taken {
  readonly queue: readonly GroupedTask[];
  readonly notice?: WebhookNotice;
  /**
   * Due time of the row, in Unix milliseconds. Absent for a delivery in excess of the run's share, and for a row that
   * cannot be read.
   */
  readonly dueAtMs?: number;
}

/** @returns undefined when a rival has moved the row, or the row's work is done */
async function take(
  { due, clock }: SweepWebhooksTools,
  each: DueWebhook,
  lanes: Lanes,
  isExcess: boolean,
): Promise<Taken | undefined> {
  const { task } = each;
  const next = { sweepAtMs: clock.nowMs() + ROUND_MS };
  if (isExcess && task.kind === 'attempt' && lanes.has(task.endpointId)) {
    const isOpen = lanes.get(task.endpointId) !== undefined;
    const moved = await due.move(each, isOpen ? { sweepAtMs: each.sweepAtMs, apart: true } : next);
    return moved === undefined ? undefined : { queue: [] };
  }
  const moved = await due.move(each, next);
  if (moved === undefined) return undefined;
  const { group, ...rest } = moved;
  return { queue: task.kind === 'notice' ? [] : [{ task, group }], ...rest };
}

/** @param report receives the number of rows */
export function sweepWebhooksPiece(tools: SweepWebhooksTools, report: (swept: number) => void): Piece {
  return async ({ deadlineMs }) => {
    const swept = await sweepWebhooks(tools, deadlineMs);
    report(swept);
    return { done: swept, left: 0, failed: 0 };
  };
}
