import type { Job, JobItem, JobPage } from '../../jobs/use/job.ts';
import type { JobMarks } from '../../jobs/use/job-marks.ts';
import { REPLAY_HORIZON_DAYS } from '../../kernel/contract/events.ts';
import { REDELIVERY_SECONDS } from '../../kernel/contract/timing.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { OutcomePlace } from '../../payments/domain/transition.ts';
import {
  type OutcomePosition,
  type ProcessedEvents,
  positionAt,
  timeOf,
} from '../../payments/use/transition-reader.ts';
import { LOST_EVENTS_JOB, type RepublishRequest } from '../contract.ts';
import { PART, type RepublishTools, republishPart } from './republish-range.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/**
 * Age, in milliseconds, from which an event that the projector has not seen is considered lost. Relay and projector
 * take seconds. An event that is only slow is published twice, which does no harm.
 */
const LOST_AFTER_MS = 3 * MINUTE_MS;

/**
 * Minimum age of the mark, the position up to which the job has processed the Ledger, in milliseconds. A transition has
 * the time of its writer's clock, which may be slow by minutes. A new transition must never be older than the mark.
 */
const MARK_BEHIND_MS = 15 * MINUTE_MS;

/**
 * Age of the job's first mark, in milliseconds: the Stream's retention. An operator can republish older events with a
 * command.
 */
const MAX_FIRST_MARK_AGE_MS = DAY_MS;

/**
 * Maximum time that an event waits in the projector's queue, minus an hour for clock skew and for delays of the bus, in
 * milliseconds. An older event that the projector has not seen is no longer in this queue.
 */
const LONGEST_QUEUED_MS = (REDELIVERY_SECONDS - 60 * 60) * 1000;

/** A part takes about a second, so the parts fit into the minute that a page may take. */
const MAX_PARTS = 20;

/**
 * Maximum age of republished events, in milliseconds: the maximum age for a replay (`REPLAY_HORIZON_DAYS`), minus an
 * hour for the run.
 */
const HORIZON_MS = REPLAY_HORIZON_DAYS * DAY_MS - 60 * MINUTE_MS;
/** Maximum time until a run reads a mark that was moved back, in milliseconds. */
const RUNS_WITHIN_MS = 60 * MINUTE_MS;

export interface RepublishLostEventsTools extends RepublishTools {
  readonly processed: ProcessedEvents;
  /** Includes messages that are delayed or in flight. */
  readonly queued: () => Promise<number>;
  readonly marks: JobMarks;
  readonly report: (error: unknown) => void;
  /**
   * Called with a time range that was not processed in time and is skipped, in Unix milliseconds; the end is exclusive.
   */
  readonly beyondReach: (fromMs: number, untilMs: number) => void;
  /** Parks a time range that contains events that cannot be published. An operator redrives the range after the fix. */
  readonly park: (range: RepublishRequest, detail: string) => Promise<void>;
  /** Called with the age, in milliseconds, of a part whose events were published late. */
  readonly late: (ageMs: number) => void;
  /**
   * Age from which an event counts as lost, in milliseconds.
   * @default three minutes
   */
  readonly lostAfterMs?: number;
  /**
   * Reads the time before which the Ledger has every transition, in Unix milliseconds. The mark does not pass this
   * time.
   * @default the Ledger is always complete
   */
  readonly completeUntilMs?: () => Promise<number>;
}

interface Outcome {
  readonly place: OutcomePlace;
  readonly position: OutcomePosition;
}

export type RepublishStep =
  /** Sets the mark to the position at which the run begins. */
  | { readonly kind: 'begin'; readonly mark: OutcomePosition | undefined; readonly from: OutcomePosition }
  | {
      readonly kind: 'part';
      readonly from: OutcomePosition;
      readonly outcomes: readonly Outcome[];
      readonly to: OutcomePosition;
      /** Number of outcomes after this part on the same page. */
      readonly following: number;
      /** Time before which the Ledger had every transition when the outcomes were read, in Unix milliseconds. */
      readonly completeMs: number;
    };

/**
 * Reads the outcomes from the mark to the present, part by part, and republishes every event that the projector has not
 * seen. The mark advances past a part after each of the part's events was seen by the projector or accepted by the bus.
 * A part that failed stops the mark, and later runs repeat the part for as long as the outage lasts. An event that
 * cannot be read or that the bus refuses permanently does not stop the mark: it is reported, and its time range is
 * parked for an operator before the mark passes it.
 *
 * While the projector is behind, unseen events are still in the projector's queue, so the run ends without advancing
 * the mark.
 *
 *   part 1 ✓ ── part 2 ✗ the bus is down ── part 3 ✓ ── …      mark: after part 1
 *   next run    part 2 ✓ ── part 3 ✓ ── …                      mark: after part 3
 */
export function republishLostEventsJob(tools: RepublishLostEventsTools): Job<RepublishStep> {
  const { marks, clock } = tools;
  const lostAfterMs = tools.lostAfterMs ?? LOST_AFTER_MS;
  return {
    page: async (cursor, limit, { scheduledForMs }) => {
      // Never process beyond the current time, even if the run's scheduled time is later.
      const untilMs = Math.min(scheduledForMs, clock.nowMs()) - lostAfterMs;
      if (cursor !== undefined) return emptyWhileQueued(tools, await partsFrom(tools, cursor, untilMs, limit));
      const begin = beginStep(await marks.readMark(LOST_EVENTS_JOB), clock.nowMs());
      const { from } = begin;
      if (begin.mark === from) return emptyWhileQueued(tools, await partsFrom(tools, from, untilMs, limit));
      return { items: [{ thing: begin, name: nameOf(from), after: from }], next: from };
    },
    handle: async (step, { deadlineMs }) => {
      if (step.kind === 'begin') return setMark(tools, step);
      const { from, outcomes, to, completeMs } = step;
      const places = placesOf(outcomes);
      const waiting = { ...tools, isQueued: createQueueCheck(tools, step) };
      const { published, unpublishable, isFinished, isQueued } = await republishPart(waiting, from, places, deadlineMs);
      if (isQueued === true) return { done: 0, left: places.length, failed: 0 };
      if (published > 0) tools.late(clock.nowMs() - timeOf(from));
      if (!isFinished) {
        tools.report(new RetryableError('part_unfinished', `not all events from ${nameOf(from)} were published`));
        return { done: published, left: 0, failed: unpublishable.length + 1 };
      }
      const latest = positionAt(Math.min(clock.nowMs() - MARK_BEHIND_MS, completeMs));
      const mark = to < latest ? to : latest;
      if (from < mark) {
        const passed = outcomes.filter(({ place, position }) => position <= mark && unpublishable.includes(place));
        await parkRangeOf(tools, from, passed);
        await marks.moveMark(LOST_EVENTS_JOB, from, mark);
      }
      return { done: published, left: 0, failed: unpublishable.length };
    },
  };
}

/**
 * Parks nothing unless the stored mark is at the start of this part: while an earlier part stops the mark, each run
 * would park the range again. A redrive also republishes the other events of the range, which consumers recognize.
 */
async function parkRangeOf(
  { park, marks }: RepublishLostEventsTools,
  from: OutcomePosition,
  outcomes: readonly Outcome[],
): Promise<void> {
  const [first] = outcomes;
  const last = outcomes.at(-1);
  if (first === undefined || last === undefined || (await marks.readMark(LOST_EVENTS_JOB)) !== from) return;
  const range = { sinceMs: timeOf(first.position), untilMs: timeOf(last.position) + 1 };
  await park(range, `${outcomes.length} events: see the log`);
}

function placesOf(outcomes: readonly Outcome[]): readonly OutcomePlace[] {
  return outcomes.map(({ place }) => place);
}

/**
 * Returns an empty page while the events of the page's first part are in the projector's queue, because all later
 * events are behind them in the queue.
 */
async function emptyWhileQueued(
  tools: RepublishLostEventsTools,
  page: JobPage<RepublishStep>,
): Promise<JobPage<RepublishStep>> {
  const step = page.items[0]?.thing;
  if (step?.kind !== 'part') return page;
  const places = placesOf(step.outcomes);
  try {
    // If the projector has seen the part's newest event, which is nearly always true, do not check the other events.
    if ((await tools.processed.unprocessed(places.slice(-1))).length === 0) return page;
    const isQueued = await createQueueCheck(tools, step)(await tools.processed.unprocessed(places), places);
    return isQueued ? { items: [] } : page;
  } catch {
    // Ignore the failure here: the part itself fails for the same reason, and is reported.
    return page;
  }
}

/**
 * The projector processes its queue roughly in order. Events are therefore considered queued if three conditions hold:
 * they are not older than `LONGEST_QUEUED_MS`; more than half of the newest quarter of the part's events are unseen;
 * and the projector's queue has a message for each unseen event of the part and for each later outcome of the page. If
 * the queue has fewer messages, some events were lost, and all unseen events are published.
 */
function createQueueCheck(
  { queued, clock }: RepublishLostEventsTools,
  { from, following }: Pick<Extract<RepublishStep, { kind: 'part' }>, 'from' | 'following'>,
) {
  return async (missing: readonly OutcomePlace[], of: readonly OutcomePlace[]): Promise<boolean> => {
    const newest = of.slice(-Math.ceil(of.length / 4));
    const isBehind = 2 * newest.filter((place) => missing.includes(place)).length > newest.length;
    const mayBeQueued = isBehind && timeOf(from) > clock.nowMs() - LONGEST_QUEUED_MS;
    return mayBeQueued && (await queued()) >= missing.length + following;
  };
}

async function setMark(
  { marks, beyondReach }: RepublishLostEventsTools,
  { mark, from }: Extract<RepublishStep, { kind: 'begin' }>,
) {
  if (mark !== undefined) beyondReach(timeOf(mark), timeOf(from));
  await marks.moveMark(LOST_EVENTS_JOB, mark, from);
  // Skip the events before the new mark. Consumers may no longer have their records of these events, so publishing them
  // could cause a second effect. An alarm reports the skipped range.
  return { done: 0, left: 0, failed: mark === undefined ? 0 : 1 };
}

/**
 * Moves the mark back, so that the job reads outcomes that are older than the mark, but were copied to the Ledger only
 * now. Call it after the copy: a run can move the mark forward again at any time.
 *
 * @param sinceMs time of the oldest of these outcomes, in Unix milliseconds
 * @returns false if these outcomes are so old that the job would skip some of them; the mark is then unchanged
 */
export async function republishSince(marks: JobMarks, sinceMs: number, nowMs: number): Promise<boolean> {
  if (sinceMs < nowMs - HORIZON_MS + RUNS_WITHIN_MS) return false;
  const from = positionAt(sinceMs);
  for (;;) {
    const mark = await marks.readMark(LOST_EVENTS_JOB);
    // Before its first run, the job has no mark. That run reads the outcomes of the preceding day.
    if (mark === undefined || mark <= from || (await marks.moveMark(LOST_EVENTS_JOB, mark, from))) return true;
  }
}

function beginStep(mark: OutcomePosition | undefined, nowMs: number): Extract<RepublishStep, { kind: 'begin' }> {
  const kind = 'begin';
  if (mark === undefined) return { kind, mark, from: positionAt(nowMs - MAX_FIRST_MARK_AGE_MS) };
  const reach = positionAt(nowMs - HORIZON_MS);
  return { kind, mark, from: mark < reach ? reach : mark };
}

/**
 * The last part ends at `untilMs` even if it has no outcomes, so that the mark also advances when there is no traffic.
 */
async function partsFrom(
  { transitions, completeUntilMs }: RepublishLostEventsTools,
  after: OutcomePosition,
  untilMs: number,
  limit: number,
): Promise<JobPage<RepublishStep>> {
  if (timeOf(after) >= untilMs) return { items: [] };
  // Read this time before the outcomes, so that the mark cannot pass a row that is copied after the outcomes are read.
  const completeMs = (await completeUntilMs?.()) ?? Number.POSITIVE_INFINITY;
  const { outcomes, isLast } = await transitions.outcomesAfter(after, untilMs, Math.min(limit, MAX_PARTS) * PART);
  const items: JobItem<RepublishStep>[] = [];
  let from = after;
  for (let start = 0; start < outcomes.length || items.length === 0; start += PART) {
    const part = outcomes.slice(start, start + PART);
    const isEnd = isLast && start + PART >= outcomes.length;
    const to = isEnd ? positionAt(untilMs) : (part.at(-1)?.position ?? from);
    const following = outcomes.length - start - part.length;
    const thing = { kind: 'part', from, outcomes: part, to, following, completeMs } as const;
    items.push({ thing, name: nameOf(from), after: to });
    from = to;
  }
  return { items, ...(isLast ? {} : { next: from }) };
}

function nameOf(position: OutcomePosition): string {
  return new Date(timeOf(position)).toISOString();
}
