import type { Digest } from '../../kernel/digest.ts';
import { isFault, TerminalError } from '../../kernel/faults.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { OnceInProcess, OperationRunner } from '../../once/use/operation-runner.ts';
import type { OutcomePlace } from '../../payments/domain/transition.ts';
import {
  type OutcomePosition,
  type ProcessedEvents,
  positionAt,
  type RecentOutcomes,
  timeOf,
} from '../../payments/use/transition-reader.ts';
import type { PayonceEvent } from '../domain/event.ts';
import { relayOperation, republishOperation } from '../ids.ts';
import type { PublishOutcome } from './event-publisher.ts';
import { type LedgerEventTools, readLedgerEvent } from './ledger-events.ts';
import { type PublishTools, publishAll } from './publish-events.ts';

export interface RepublishTools extends PublishTools {
  readonly transitions: LedgerEventTools['transitions'] & RecentOutcomes;
  /** @default every outcome of the range is republished */
  readonly processed?: ProcessedEvents;
  /** @default no event is in the queue */
  readonly isQueued?: (missing: readonly OutcomePlace[], of: readonly OutcomePlace[]) => Promise<boolean>;
  readonly runner: OperationRunner;
  readonly digest: Digest;
  /** Receives the error of each event that cannot be read or that the bus refuses. @default errors are only counted */
  readonly report?: (error: unknown) => void;
  /** @default no alarm is raised */
  readonly review?: {
    readonly alarm: (paymentId: string) => void;
    readonly alarmed: OnceInProcess<true>;
  };
}

export interface RepublishRange {
  /** Inclusive. */
  readonly sinceMs: number;
  /** Exclusive. */
  readonly untilMs: number;
  /** The call ends after this time, and the result then contains `nextMs`. */
  readonly deadlineMs: number;
}

export interface Republished {
  /** Number of outcomes in the processed part of the range. */
  readonly found: number;
  readonly published: number;
  /**
   * Number of events that cannot be read or that the bus refuses permanently; absent when 0. They do not block other
   * events.
   */
  readonly unpublishable?: number;
  /** Start of the next call's range, in Unix milliseconds; absent when the range is complete. */
  readonly nextMs?: number;
}

/**
 * Number of outcomes that are checked and published together. Reading a part takes at least one query for each shard of
 * the index.
 */
export const PART = 100;
const READ_AT_ONCE = 20;

interface Part extends Pick<Republished, 'found' | 'published'> {
  /** The events cannot be read, or the bus refuses them permanently. */
  readonly unpublishable: readonly OutcomePlace[];
  /** If false, the caller must repeat the part later. */
  readonly isFinished: boolean;
  /** Whether the part's events are still in the projector's queue, so that nothing was published. @default false */
  readonly isQueued?: boolean;
}

/**
 * Publishes every outcome of the range that the projector has not seen, so that no event is lost even if an outage
 * exceeds the Stream's retention (24 hours). Consumers recognize duplicates by the event's id.
 *
 * @throws RetryableError when the Ledger cannot be read now
 */
export async function republishRange(tools: RepublishTools, range: RepublishRange): Promise<Republished> {
  const sum = { found: 0, published: 0, unpublishable: 0 };
  for (let at = positionAt(range.sinceMs); ; ) {
    if (tools.clock.nowMs() >= range.deadlineMs) return { ...republished(sum), nextMs: timeOf(at) };
    const { outcomes, isLast } = await tools.transitions.outcomesAfter(at, range.untilMs, PART);
    const places = outcomes.map(({ place }) => place);
    const part = await republishPart(tools, at, places, range.deadlineMs);
    sum.found += part.found;
    sum.published += part.published;
    sum.unpublishable += part.unpublishable.length;
    if (!part.isFinished) return { ...republished(sum), nextMs: timeOf(at) };
    const end = outcomes.at(-1);
    if (isLast || end === undefined) return republished(sum);
    at = end.position;
  }
}

/**
 * If the projector has seen all events of the part, the part is reported as already done.
 *
 * @param position the position that identifies the part
 */
export function republishPart(
  tools: RepublishTools,
  position: OutcomePosition,
  places: readonly OutcomePlace[],
  deadlineMs: number,
): Promise<Part> {
  const found = places.length;
  let missing = places;
  return tools.runner.record<undefined, Part>(republishOperation(position), {
    find: async () => {
      if (tools.processed !== undefined) missing = await tools.processed.unprocessed(places);
      const nothing = { found, published: 0, unpublishable: [] };
      if (missing.length === 0) return { ...nothing, isFinished: true };
      return (await tools.isQueued?.(missing, places)) === true
        ? { ...nothing, isFinished: false, isQueued: true }
        : undefined;
    },
    prepare: async () => undefined,
    commit: async () => ({ found, ...(await publishMissing(tools, missing, deadlineMs)) }),
  });
}

async function publishMissing(
  tools: RepublishTools,
  missing: readonly OutcomePlace[],
  deadlineMs: number,
): Promise<Omit<Part, 'found'>> {
  const unpublishable: OutcomePlace[] = [];
  let published = 0;
  for (let start = 0; start < missing.length; start += READ_AT_ONCE) {
    // Stop at the deadline only if `processed` is set: a later call then skips the events published here, because the
    // projector has seen them.
    const isOver = start > 0 && tools.processed !== undefined && tools.clock.nowMs() >= deadlineMs;
    if (isOver) return { published, unpublishable, isFinished: false };
    const some = missing.slice(start, start + READ_AT_ONCE);
    const read = await Promise.all(some.map(async (place) => ({ place, event: await eventAt(tools, place) })));
    const events = read.flatMap(({ event }) => event ?? []);
    raiseAlarms(tools, events);
    const outcomes = await publishAll(tools, events);
    const refused = outcomes.flatMap((outcome, index) => refusal(outcome, events[index]));
    for (const { error } of refused) tools.report?.(error);
    const isUnpublishable = (event?: PayonceEvent) =>
      event === undefined || refused.some((each) => each.event === event);
    unpublishable.push(...read.flatMap(({ place, event }) => (isUnpublishable(event) ? [place] : [])));
    published += outcomes.filter(({ kind }) => kind === 'published').length;
    // The bus is unavailable: the caller repeats this part later.
    if (outcomes.some(({ kind }) => kind === 'not_now')) return { published, unpublishable, isFinished: false };
  }
  return { published, unpublishable, isFinished: true };
}

/**
 * Raises the alarm for each payment that went into review. Called before the events are published, because they are not
 * read again afterwards. A relay that was only late raises the same alarm a second time.
 */
function raiseAlarms({ review }: RepublishTools, events: readonly PayonceEvent[]): void {
  for (const each of events) {
    const operation = relayOperation(each.event.id);
    const isToReview = each.event.type === 'payment.review_required' && 'payment' in each;
    if (review === undefined || !isToReview || review.alarmed.find(operation)) continue;
    review.alarm(each.payment.id);
    review.alarmed.keep(operation, true);
  }
}

function refusal(outcome: PublishOutcome, event: PayonceEvent | undefined) {
  if (outcome.kind !== 'refused' || event === undefined) return [];
  const error = new TerminalError('event_refused_by_bus', `the bus refuses ${event.event.id}: ${outcome.code}`);
  return [{ event, error }];
}

function republished({ found, published, unpublishable }: Required<Omit<Republished, 'nextMs'>>): Republished {
  return { found, published, ...(unpublishable === 0 ? {} : { unpublishable }) };
}

/** @returns undefined when the event cannot be read: a bug or an unknown format must not block the other events */
async function eventAt(tools: RepublishTools, place: OutcomePlace): Promise<PayonceEvent | undefined> {
  try {
    const event = await readLedgerEvent(tools, place);
    invariant(event !== undefined, 'the index names an outcome that is not in the Ledger');
    return event;
  } catch (error) {
    if (isFault(error)) throw error;
    tools.report?.(error);
    return undefined;
  }
}
