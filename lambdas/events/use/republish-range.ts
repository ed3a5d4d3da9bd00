import type { Digest } from '../../kernel/digest.ts';
import { isFault, TerminalError } from '../../kernel/faults.ts';
import { republishOperation } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import type { OutcomePlace } from '../../payments/domain/transition.ts';
import type { RecentOutcomes, SeenEvents } from '../../payments/use/transition-reader.ts';
import type { PayonceEvent } from '../domain/event.ts';
import type { PublishOutcome } from './event-publisher.ts';
import { type LedgerEventTools, readLedgerEvent } from './ledger-events.ts';
import { type PublishTools, publishAll } from './publish-events.ts';

export interface RepublishTools extends PublishTools {
  readonly transitions: LedgerEventTools['transitions'] & RecentOutcomes;
  /** @default none: every outcome of the range is published again */
  readonly seen?: SeenEvents;
  readonly runner: OperationRunner;
  readonly digest: Digest;
  /** Receives the error of each event that cannot be read or that the bus refuses. @default errors are only counted */
  readonly report?: (error: unknown) => void;
}

export interface RepublishRange {
  /** Unix milliseconds, inclusive; as whole minutes of UTC. */
  readonly sinceMs: number;
  /** Unix milliseconds, exclusive. */
  readonly untilMs: number;
  /** When to stop and return where to continue. Unix milliseconds. */
  readonly deadlineMs: number;
}

export interface Republished {
  /** Number of outcomes that the Ledger has in the minutes that were read. */
  readonly found: number;
  readonly published: number;
  /** Number of events that cannot be read or that the bus refuses permanently; absent when 0. They do not block other events. */
  readonly unpublishable?: number;
  /** The minute at which to continue; absent when the range is complete. Unix milliseconds. */
  readonly nextMs?: number;
}

const MINUTE_MS = 60_000;
/** Number of events that are read concurrently and held in memory. */
const READ_AT_ONCE = 20;

/** The result of one minute. */
type Minute = Required<Omit<Republished, 'nextMs'>> & {
  /** False when the caller has to repeat it later. */
  readonly isFinished: boolean;
};

/**
 * Publishes the outcomes of the range that the projector has not seen, so that an outage longer than the Stream's retention
 * (24 hours) loses no event. A consumer that already received an event recognizes it by its id.
 *
 * @throws RetryableError when the Ledger cannot be read now
 */
export async function republishRange(tools: RepublishTools, range: RepublishRange): Promise<Republished> {
  const sum = { found: 0, published: 0, unpublishable: 0 };
  const firstMs = Math.floor(range.sinceMs / MINUTE_MS) * MINUTE_MS;
  for (let minuteMs = firstMs; minuteMs < range.untilMs; minuteMs += MINUTE_MS) {
    if (tools.clock.nowMs() >= range.deadlineMs) return { ...told(sum), nextMs: minuteMs };
    const minute = await republishMinute(tools, minuteMs, range.deadlineMs);
    sum.found += minute.found;
    sum.published += minute.published;
    sum.unpublishable += minute.unpublishable;
    if (!minute.isFinished) return { ...told(sum), nextMs: minuteMs };
  }
  return told(sum);
}

/** Publishes one minute. It counts as done before when the projector has seen all its events. */
function republishMinute(tools: RepublishTools, minuteMs: number, deadlineMs: number): Promise<Minute> {
  let found = 0;
  let missing: readonly OutcomePlace[] = [];
  return tools.runner.record<undefined, Minute>(republishOperation(minuteMs), {
    find: async () => {
      const places = await tools.transitions.outcomesOfMinute(minuteMs);
      found = places.length;
      missing = tools.seen === undefined ? places : await tools.seen.unseen(places);
      return missing.length === 0 ? { found, published: 0, unpublishable: 0, isFinished: true } : undefined;
    },
    prepare: async () => undefined,
    commit: async () => ({ found, ...(await publishMissing(tools, missing, deadlineMs)) }),
  });
}

async function publishMissing(
  tools: RepublishTools,
  missing: readonly OutcomePlace[],
  deadlineMs: number,
): Promise<Omit<Minute, 'found'>> {
  const sum = { published: 0, unpublishable: 0 };
  for (let start = 0; start < missing.length; start += READ_AT_ONCE) {
    // The next call finds the rest of this minute, provided that `seen` reports what was published.
    const isOver = start > 0 && tools.seen !== undefined && tools.clock.nowMs() >= deadlineMs;
    if (isOver) return { ...sum, isFinished: false };
    const read = await Promise.all(missing.slice(start, start + READ_AT_ONCE).map((place) => eventAt(tools, place)));
    const events = read.filter((event) => event !== undefined);
    const outcomes = await publishAll(tools, events);
    const refused = outcomes.flatMap((outcome, index) => refusal(outcome, events[index]));
    for (const error of refused) tools.report?.(error);
    sum.published += outcomes.filter(({ kind }) => kind === 'published').length;
    sum.unpublishable += read.length - events.length + refused.length;
    // The bus is unavailable: the caller repeats this minute later.
    if (outcomes.some(({ kind }) => kind === 'not_now')) return { ...sum, isFinished: false };
  }
  return { ...sum, isFinished: true };
}

function refusal(outcome: PublishOutcome, event: PayonceEvent | undefined): readonly TerminalError[] {
  if (outcome.kind !== 'refused') return [];
  return [
    new TerminalError('event_refused_by_bus', `the bus refuses ${event?.event.id ?? 'an event'}: ${outcome.code}`),
  ];
}

function told({ found, published, unpublishable }: Required<Omit<Republished, 'nextMs'>>): Republished {
  return { found, published, ...(unpublishable === 0 ? {} : { unpublishable }) };
}

/** @returns undefined when the event cannot be read: a bug or an unknown format must not block the other events */
async function eventAt(tools: RepublishTools, place: OutcomePlace): Promise<PayonceEvent | undefined> {
  try {
    const event = await readLedgerEvent(tools, place);
    invariant(event !== undefined, 'an outcome that the index names is in the Ledger');
    return event;
  } catch (error) {
    if (isFault(error)) throw error;
    tools.report?.(error);
    return undefined;
  }
}
