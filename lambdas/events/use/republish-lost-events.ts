import type { Job, JobItem } from '../../jobs/use/job.ts';
import type { JobMarks } from '../../jobs/use/job-marks.ts';
import { REPLAY_HORIZON_DAYS } from '../../kernel/contract/events.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { LedgerAge, SeenEvents } from '../../payments/use/transition-reader.ts';
import { type RepublishTools, republishRange } from './republish-range.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** The job's id, under which the mark is stored. It must never change. */
const JOB_ID = 'republish-events';

/**
 * How long after its minute an event that the projector has not seen counts as lost. Relay and projector take seconds. An
 * event that was only slow is published twice, which does no harm. Milliseconds.
 */
const LOST_AFTER_MS = 3 * MINUTE_MS;

/**
 * How far the mark stays behind the present. A transition has the time of its writer, whose clock may be slow by minutes; it
 * must not appear behind the mark. Milliseconds.
 */
const MARK_BEHIND_MS = 15 * MINUTE_MS;

/**
 * How far back the first mark begins: the Stream's retention, or the age of the Ledger if it is younger. Older events are left to
 * the operator's command. Milliseconds.
 */
const FIRST_REACH_MS = DAY_MS;

/** How far back events may be republished: as long as consumers remember events, less an hour for the run. Milliseconds. */
const HORIZON_MS = REPLAY_HORIZON_DAYS * DAY_MS - 60 * MINUTE_MS;

export interface RepublishLostEventsTools extends RepublishTools {
  readonly seen: SeenEvents;
  readonly marks: JobMarks;
  readonly age: LedgerAge;
  readonly report: (error: unknown) => void;
  /** Called with a range of minutes that was not processed in time and is skipped. Unix milliseconds, the end exclusive. */
  readonly beyondReach: (fromMs: number, untilMs: number) => void;
  /** @default three minutes */
  readonly lostAfterMs?: number;
}

export type RepublishStep =
  /** Sets the mark to the start of the walk. */
  | { readonly kind: 'begin'; readonly markMs: number | undefined; readonly fromMs: number }
  | { readonly kind: 'minute'; readonly minuteMs: number };

/**
 * The job "republish-events". It walks from the mark to the present, minute by minute, and publishes again every event that
 * the projector has not seen. The mark advances past a minute once each of its events was seen or was accepted by the bus. A
 * minute that failed stops the mark, and later runs repeat it, however long the outage. An event that cannot be read or that
 * the bus refuses permanently does not stop the mark; it is reported.
 *
 *   12:00 ✓ ── 12:01 ✗ the bus is down ── 12:02 ✓ ── …      mark: 12:01
 *   next run   12:01 ✓ ── 12:02 ✓ ── …                      mark: 12:03
 */
export function republishLostEvents(tools: RepublishLostEventsTools): Job<RepublishStep> {
  const { marks, age, clock } = tools;
  const lostAfterMs = tools.lostAfterMs ?? LOST_AFTER_MS;
  return {
    page: async (cursor, limit, { scheduledForMs }) => {
      // Never beyond the present, whatever the scheduled time of the run.
      const untilMs = wholeMinute(Math.min(scheduledForMs, clock.nowMs()) - lostAfterMs);
      if (cursor !== undefined) return minutesFrom(Number(cursor), untilMs, limit);
      const begin = beginning(await marks.readMark(JOB_ID), await age.emptyBeforeMs(), clock.nowMs());
      const page = minutesFrom(begin.fromMs, untilMs, Math.max(0, limit - 1));
      return begin.markMs === begin.fromMs ? page : { ...page, items: [beginItem(begin), ...page.items] };
    },
    handle: async (step, { deadlineMs }) => {
      if (step.kind === 'begin') return setMark(tools, step);
      const { minuteMs } = step;
      const nextMs = minuteMs + MINUTE_MS;
      const came = await republishRange(tools, { sinceMs: minuteMs, untilMs: nextMs, deadlineMs });
      const { published, unpublishable = 0 } = came;
      if (came.nextMs !== undefined) {
        tools.report(new RetryableError('minute_unfinished', `${nameOf(minuteMs)} was not finished`));
        return { done: published, left: 0, failed: unpublishable + 1 };
      }
      if (nextMs <= clock.nowMs() - MARK_BEHIND_MS) await marks.moveMark(JOB_ID, minuteMs, nextMs);
      return { done: published, left: 0, failed: unpublishable };
    },
  };
}

async function setMark(
  { marks, beyondReach }: RepublishLostEventsTools,
  { markMs, fromMs }: Extract<RepublishStep, { kind: 'begin' }>,
) {
  if (markMs !== undefined) beyondReach(markMs, fromMs);
  await marks.moveMark(JOB_ID, markMs, fromMs);
  // Consumers have forgotten these events, so publishing them would apply them twice. They are skipped, and an alarm reports it.
  return { done: 0, left: 0, failed: markMs === undefined ? 0 : 1 };
}

function beginning(
  markMs: number | undefined,
  emptyBeforeMs: number,
  nowMs: number,
): Extract<RepublishStep, { kind: 'begin' }> {
  const kind = 'begin';
  if (markMs === undefined)
    return { kind, markMs, fromMs: wholeMinute(Math.max(emptyBeforeMs, nowMs - FIRST_REACH_MS)) };
  return { kind, markMs, fromMs: Math.max(markMs, wholeMinute(nowMs - HORIZON_MS)) };
}

function beginItem(step: Extract<RepublishStep, { kind: 'begin' }>): JobItem<RepublishStep> {
  return { thing: step, name: `from ${nameOf(step.fromMs)}`, after: String(step.fromMs) };
}

/** The minutes from `fromMs`. The cursor is the first minute that is not done. */
function minutesFrom(fromMs: number, untilMs: number, limit: number) {
  const items: JobItem<RepublishStep>[] = [];
  for (let minuteMs = fromMs; minuteMs < untilMs && items.length < limit; minuteMs += MINUTE_MS) {
    items.push({ thing: { kind: 'minute', minuteMs }, name: nameOf(minuteMs), after: String(minuteMs + MINUTE_MS) });
  }
  const nextMs = fromMs + items.length * MINUTE_MS;
  return { items, ...(nextMs < untilMs ? { next: String(nextMs) } : {}) };
}

function wholeMinute(ms: number): number {
  return Math.floor(ms / MINUTE_MS) * MINUTE_MS;
}

function nameOf(minuteMs: number): string {
  return new Date(minuteMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length);
}
