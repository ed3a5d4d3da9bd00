import { EventMetric, REPLAY_HORIZON_DAYS } from '../../kernel/contract/events.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { RepublishRequest } from '../contract.ts';
import type { StreamRecord } from './ledger-stream.ts';
import { type Relayed, type RelayTools, relayTransitions } from './relay-transitions.ts';
import { type RepublishTools, republishRange } from './republish-range.ts';

export type ParkedWork =
  | { readonly kind: 'record'; readonly record: StreamRecord }
  /** The message does not contain the batch's records, so the events are read from the Ledger. */
  | ({ readonly kind: 'range' } & RepublishRequest);

export interface RedriveParkedTools
  extends RelayTools,
    Omit<RepublishTools, 'report' | 'processed' | 'isQueued' | 'review'> {
  readonly transitions: RelayTools['transitions'] & RepublishTools['transitions'];
  readonly bodyOf: (range: RepublishRequest) => string;
}

type Redriven = Pick<Relayed, 'published' | 'parked' | 'tampered'>;

const HORIZON_MS = REPLAY_HORIZON_DAYS * 24 * 60 * 60 * 1000;

/**
 * Returns whether an event of this time is too old to be published again. A consumer may delete its record of such an
 * event before it receives the event again, and would then not recognize the duplicate.
 *
 * @param sinceMs Unix milliseconds
 */
export function isBeyondHorizon(sinceMs: number, nowMs: number): boolean {
  return sinceMs < nowMs - HORIZON_MS;
}

/**
 * Work that fails permanently or is too old, and the rest of a range that is not complete at the deadline, are parked
 * as new messages. A retry publishes the same events, with the same ids.
 *
 * @param deadlineMs Unix time in milliseconds after which no further part of a range begins
 * @throws RetryableError `events_not_published` while the bus or the Ledger is unavailable: the caller must retry
 */
export async function redriveParked(
  tools: RedriveParkedTools,
  work: ParkedWork,
  deadlineMs: number,
): Promise<Redriven> {
  if (work.kind === 'range') return redriveRange(tools, work, deadlineMs);
  const { published, parked, tampered, redeliverFrom } = await relayTransitions(tools, [work.record]);
  if (redeliverFrom !== undefined) throw notNow();
  // Report no age: an event that an operator redrives days later is not considered late.
  return { published, parked, tampered };
}

async function redriveRange(
  tools: RedriveParkedTools,
  { sinceMs, untilMs }: RepublishRequest,
  deadlineMs: number,
): Promise<Redriven> {
  const nowMs = tools.clock.nowMs();
  const remembered = { sinceMs: Math.max(sinceMs, nowMs - HORIZON_MS), untilMs };
  const done =
    remembered.sinceMs < untilMs
      ? await redriveRemembered(tools, remembered, deadlineMs)
      : { published: 0, parked: 0, tampered: 0 };
  if (!isBeyondHorizon(sinceMs, nowMs)) return done;
  const forgotten = { sinceMs, untilMs: Math.min(untilMs, remembered.sinceMs) };
  await parkRange(tools, forgotten, 'beyond_horizon', `older than ${REPLAY_HORIZON_DAYS} days`);
  return { ...done, parked: done.parked + 1 };
}

async function redriveRemembered(
  tools: RedriveParkedTools,
  { sinceMs, untilMs }: RepublishRequest,
  deadlineMs: number,
): Promise<Redriven> {
  const { clock, alarm, alarmed } = tools;
  const range = { sinceMs, untilMs: Math.min(untilMs, clock.nowMs()), deadlineMs };
  // Raise alarms here, because the relay raised none if it crashed on this batch or did not start.
  const review = { alarm: (id: string) => alarm(EventMetric.toReview, id), alarmed };
  const { published, unpublishable = 0, nextMs } = await republishRange({ ...tools, review }, range);
  if (nextMs !== undefined && clock.nowMs() < deadlineMs) throw notNow();
  if (unpublishable > 0)
    await parkRange(
      tools,
      { sinceMs, untilMs: nextMs ?? untilMs },
      'unpublishable',
      `${unpublishable} events: see the log`,
    );
  if (nextMs !== undefined)
    await parkRange(tools, { sinceMs: nextMs, untilMs }, 'incomplete', 'redrive this message to continue');
  return { published, parked: (unpublishable > 0 ? 1 : 0) + (nextMs === undefined ? 0 : 1), tampered: 0 };
}

function parkRange(
  { parking, bodyOf }: RedriveParkedTools,
  range: RepublishRequest,
  reason: string,
  detail: string,
): Promise<void> {
  return parking.park({ body: bodyOf(range), reason, detail });
}

function notNow(): RetryableError {
  return new RetryableError(
    'events_not_published',
    'The bus does not accept events now, or the Ledger is unavailable.',
  );
}
