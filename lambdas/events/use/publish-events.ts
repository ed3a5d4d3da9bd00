import { isFault } from '../../kernel/faults.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import type { PayonceEvent } from '../domain/event.ts';
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

/** A bus that stumbles is asked again this often; one that is down is left to the Stream, which has a day. */
const MAX_TRIES = 3;
/** Waits before the second and the third try, with full jitter. Milliseconds. */
const WAITS_MS = [0, 200, 1_000] as const;
/** What an entry needs beside its detail: names, and a time. Bytes. */
const ENTRY_OVERHEAD_BYTES = 512;
/** Of what comes after something that cannot be published now. */
export const NOT_TRIED: PublishOutcome = { kind: 'not_now', code: 'not_tried' };

/**
 * Publishes all, in calls as large as may be. Of a call that fails in part, only what failed is sent again. Once
 * something cannot be published, what comes after it is not tried: it would be published again with it.
 *
 * @returns an outcome for each, in their order
 */
export async function publishAll(
  tools: PublishTools,
  events: readonly PayonceEvent[],
): Promise<readonly PublishOutcome[]> {
  const outcomes: PublishOutcome[] = [];
  for (const batch of batchesOf(events)) {
    const isStuck = outcomes.some(({ kind }) => kind === 'not_now');
    outcomes.push(...(isStuck ? batch.map(() => NOT_TRIED) : await publishBatch(tools, batch)));
  }
  return outcomes;
}

async function publishBatch(
  { publisher, clock, entropy }: PublishTools,
  batch: readonly PayonceEvent[],
): Promise<readonly PublishOutcome[]> {
  let outcomes: readonly PublishOutcome[] = batch.map(() => NOT_TRIED);
  for (let attempt = 0; attempt < MAX_TRIES; attempt += 1) {
    if (attempt > 0) await clock.sleep(entropy.fraction() * (WAITS_MS[attempt] ?? 0));
    const open = outcomes.flatMap(({ kind }, index) => (kind === 'not_now' ? [index] : []));
    if (open.length === 0) break;
    const told = await publishOnce(
      publisher,
      batch.filter((_, index) => open.includes(index)),
    );
    outcomes = outcomes.map((outcome, index) => told[open.indexOf(index)] ?? outcome);
  }
  return outcomes;
}

/** A call that nobody knows of may have published all: to publish again is harmless, and to leave one out is not. */
async function publishOnce(
  publisher: EventPublisher,
  events: readonly PayonceEvent[],
): Promise<readonly PublishOutcome[]> {
  try {
    return await publisher.publish(events);
  } catch (error) {
    if (!isFault(error)) throw error;
    const { code } = error;
    if (code !== BUS_CALL_INVALID) return events.map(() => ({ kind: 'not_now', code }));
    return events.length === 1 ? [{ kind: 'refused', code }] : publishAlone(publisher, events);
  }
}

/** One of them has the whole call refused: it shall not hold up the others. */
async function publishAlone(
  publisher: EventPublisher,
  events: readonly PayonceEvent[],
): Promise<readonly PublishOutcome[]> {
  const outcomes: PublishOutcome[] = [];
  for (const event of events) outcomes.push(...(await publishOnce(publisher, [event])));
  return outcomes;
}

/** In order, each as large as one call may be. One that is too large by itself goes alone, and is refused by the bus. */
function batchesOf(events: readonly PayonceEvent[]): readonly (readonly PayonceEvent[])[] {
  const batches: PayonceEvent[][] = [];
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

function sizeOf(event: PayonceEvent): number {
  return new TextEncoder().encode(JSON.stringify(event)).length + ENTRY_OVERHEAD_BYTES;
}
