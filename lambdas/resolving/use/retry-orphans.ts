import { adoptOrphan, type ReceiveCallbackTools } from '../../callbacks/receive-callback.ts';
import type { Job } from '../../jobs/use/job.ts';
import { piecesJob } from '../../jobs/use/pieces-job.ts';
import type { OrphanedCallback } from '../../payments/use/effect-store.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import type { OrphanShelf } from '../../payments/use/unfinished-work.ts';

const MINUTE_MS = 60_000;
/** An orphan is tried again for this long, then kept for people. Milliseconds. */
const RETRY_FOR_MS = 24 * 60 * MINUTE_MS;
/** Tried at every run for the first hour; afterwards now and then, so that old ones leave time for young ones. */
const EVERY_RUN_MS = 60 * MINUTE_MS;
const LATER_EVERY_MINUTES = 15;
/** What is looked at in a run; most of it is not due. */
const MAX_ORPHANS = 1_000;
/** A run ends before its function does: one read at the processor takes five seconds at most. Milliseconds. */
const RUN_FOR_MS = 45_000;

export interface RetryOrphansTools extends Omit<ReceiveCallbackTools, 'books'> {
  readonly shelf: OrphanShelf;
  /** Of every processor that is called here. */
  readonly books: readonly ProcessorBooks[];
  /** Told of what went wrong with one orphan; the others are tried all the same. */
  readonly report: (error: unknown) => void;
}

export interface RetriedOrphans {
  readonly adopted: number;
  readonly waiting: number;
  readonly givenUp: number;
  /** Something went wrong; the next run tries again. */
  readonly failed: number;
}

/**
 * Gives every waiting orphan that is due one more try; the one that cannot be tried does not hold up the others.
 *
 * @param startedAtMs of the run, which decides what is due
 * @param deadlineMs when to stop at the latest; Unix milliseconds
 */
export async function retryOrphans(
  tools: RetryOrphansTools,
  startedAtMs: number = tools.clock.nowMs(),
  deadlineMs: number = Number.POSITIVE_INFINITY,
): Promise<RetriedOrphans> {
  const counts = { adopted: 0, waiting: 0, givenUp: 0, failed: 0 };
  const untilMs = Math.min(tools.clock.nowMs() + RUN_FOR_MS, deadlineMs);
  for (const orphan of await tools.shelf.waiting(MAX_ORPHANS)) {
    const nowMs = tools.clock.nowMs();
    if (nowMs >= untilMs || !isDue(orphan, nowMs, startedAtMs)) counts.waiting += 1;
    else counts[await retryOne(tools, orphan, nowMs)] += 1;
  }
  return counts;
}

/** The same as a job. @param told what it came to */
export function retryOrphansJob(tools: RetryOrphansTools, told: (retried: RetriedOrphans) => void): Job<string> {
  return piecesJob({
    orphans: async ({ scheduledForMs, deadlineMs }) => {
      const retried = await retryOrphans(tools, scheduledForMs, deadlineMs);
      told(retried);
      const { adopted, givenUp, waiting, failed } = retried;
      return { done: adopted + givenUp, left: waiting, failed };
    },
  });
}

function isDue({ receivedAtMs }: OrphanedCallback, nowMs: number, startedAtMs: number): boolean {
  const ageMs = nowMs - receivedAtMs;
  if (ageMs < EVERY_RUN_MS || ageMs >= RETRY_FOR_MS) return true;
  return Math.floor(startedAtMs / MINUTE_MS) % LATER_EVERY_MINUTES === 0;
}

/** Whatever goes wrong, after a day it is over: one that can never be tried must not be tried for ever. */
async function retryOne(
  tools: RetryOrphansTools,
  orphan: OrphanedCallback,
  nowMs: number,
): Promise<keyof RetriedOrphans> {
  let came: keyof RetriedOrphans;
  try {
    const books = tools.books.find(({ name }) => name === orphan.event.processorName);
    // Of a processor that this deployment no longer calls.
    const outcome = books === undefined ? undefined : await adoptOrphan({ ...tools, books }, orphan);
    came = outcome === undefined || outcome.kind === 'orphaned' ? 'waiting' : 'adopted';
  } catch (error) {
    tools.report(error);
    came = 'failed';
  }
  if (came === 'adopted' || nowMs - orphan.receivedAtMs < RETRY_FOR_MS) return came;
  await tools.shelf.giveUp(orphan);
  return 'givenUp';
}
