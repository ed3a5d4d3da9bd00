import { isFault } from '../../kernel/faults.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import type { AnyEvent } from '../domain/event.ts';
import {
  BUS_CALL_INVALID,
  type EventPublisher,
  MAX_BYTES,
  MAX_ENTRIES,
  type PublishOutcome,
} from './event-publisher.ts';

export interface PublishTools {
  readonly publisher: EventPublisher;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/** Maximum number of attempts per request. If the bus stays unavailable, the caller must publish the events later. */
const MAX_ATTEMPTS = 3;
/** Maximum number of concurrent requests to the bus. A full batch from the Stream takes two rounds. */
const CALLS_AT_ONCE = 5;
/** Upper limit of the wait before each attempt, in milliseconds. The wait is random (full jitter). */
const WAITS_MS = [0, 200, 1_000] as const;
/** Size of an entry's names and time, without its detail, in bytes. */
const ENTRY_OVERHEAD_BYTES = 512;
/** Outcome of events that were not sent, because an earlier event cannot be published now. */
export const NOT_SENT: PublishOutcome = { kind: 'not_now', code: 'not_sent' };

/**
 * Publishes events in requests that are as large as possible, several at a time. If a request fails in part, only the
 * failed entries are sent again. After a request that cannot succeed now, no further requests are made, because the
 * caller must publish the remaining events again in any case.
 */
export async function publishAll(tools: PublishTools, events: readonly AnyEvent[]): Promise<readonly PublishOutcome[]> {
  const outcomes: PublishOutcome[] = [];
  const batches = batchesOf(events);
  for (let start = 0; start < batches.length; start += CALLS_AT_ONCE) {
    const group = batches.slice(start, start + CALLS_AT_ONCE);
    const isStuck = outcomes.some(({ kind }) => kind === 'not_now');
    const published = isStuck
      ? group.map((batch) => batch.map(() => NOT_SENT))
      : await Promise.all(group.map((batch) => publishBatch(tools, batch)));
    outcomes.push(...published.flat());
  }
  return outcomes;
}

async function publishBatch(
  { publisher, clock, entropy }: PublishTools,
  batch: readonly AnyEvent[],
): Promise<readonly PublishOutcome[]> {
  let outcomes: readonly PublishOutcome[] = batch.map(() => NOT_SENT);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    if (attempt > 0) await clock.sleep(entropy.fraction() * (WAITS_MS[attempt] ?? 0));
    const open = outcomes.flatMap(({ kind }, index) => (kind === 'not_now' ? [index] : []));
    if (open.length === 0) break;
    const published = await publishOnce(
      publisher,
      batch.filter((_, index) => open.includes(index)),
    );
    outcomes = outcomes.map((outcome, index) => published[open.indexOf(index)] ?? outcome);
  }
  return outcomes;
}

/**
 * After any fault except {@link BUS_CALL_INVALID}, the caller publishes the events again: a duplicate is harmless, a
 * lost event is not.
 */
async function publishOnce(publisher: EventPublisher, events: readonly AnyEvent[]): Promise<readonly PublishOutcome[]> {
  try {
    return await publisher.publish(events);
  } catch (error) {
    if (!isFault(error)) throw error;
    const { code } = error;
    if (code !== BUS_CALL_INVALID) return events.map(() => ({ kind: 'not_now', code }));
    return events.length === 1 ? [{ kind: 'refused', code }] : publishAlone(publisher, events);
  }
}

/** The bus refuses a whole request if one event is invalid, but accepts the valid events when each is sent alone. */
async function publishAlone(
  publisher: EventPublisher,
  events: readonly AnyEvent[],
): Promise<readonly PublishOutcome[]> {
  const outcomes: PublishOutcome[] = [];
  for (const event of events) outcomes.push(...(await publishOnce(publisher, [event])));
  return outcomes;
}

/** An event that is too large for any request gets its own batch, and the bus refuses it. */
function batchesOf(events: readonly AnyEvent[]): readonly (readonly AnyEvent[])[] {
  const batches: AnyEvent[][] = [];
  let room = 0;
  for (const event of events) {
    const size = sizeOf(event);
    const last = batches.at(-1);
    if (last === undefined || last.length === MAX_ENTRIES || size > room) {
      batches.push([event]);
      room = MAX_BYTES - size;
    } else {
      last.push(event);
      room -= size;
    }
  }
  return batches;
}

function sizeOf(event: AnyEvent): number {
  return new TextEncoder().encode(JSON.stringify(event)).length + ENTRY_OVERHEAD_BYTES;
}
