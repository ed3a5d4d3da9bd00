import { adoptOrphan, type ReceiveCallbackTools } from '../../callbacks/receive-callback.ts';
import type { Job } from '../../jobs/use/job.ts';
import { piecesJob } from '../../jobs/use/pieces-job.ts';
import type { OrphanedCallback } from '../../payments/use/effect-store.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import type { OrphanShelf } from '../../payments/use/unfinished-work.ts';

const MINUTE_MS = 60_000;
/** Orphans are retried for this long, then left to operators. Milliseconds. */
const RETRY_FOR_MS = 24 * 60 * MINUTE_MS;
/** Orphans are retried at every run for the first hour, and less often afterwards, to leave time for newer ones. Milliseconds. */
const EVERY_RUN_MS = 60 * MINUTE_MS;
const LATER_EVERY_MINUTES = 15;
/** Orphans read per run. Most are not due. */
const MAX_ORPHANS = 1_000;
/** Ends before the function's timeout: one read at the processor takes at most five seconds. Milliseconds. */
const RUN_FOR_MS = 45_000;

export interface RetryOrphansTools extends Omit<ReceiveCallbackTools, 'books'> {
  readonly shelf: OrphanShelf;
  /** The books of every configured processor. */
  readonly books: readonly ProcessorBooks[];
  /** Receives the error of one orphan. The others are still retried. */
  readonly report: (error: unknown) => void;
}

export interface RetriedOrphans {
  readonly adopted: number;
  readonly waiting: number;
  readonly givenUp: number;
  /** Ended with an error. The next run tries again. */
  readonly failed: number;
}

/**
 * Retries every waiting orphan that is due. A failed one does not block the others.
 *
 * @param startedAtMs start of the run, which decides what is due; Unix milliseconds
 * @param deadlineMs no orphan is retried after it; Unix milliseconds
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

/** {@link retryOrphans} as a job. @param told receives the result */
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

/**
 * After a day the orphan is given up, also when every attempt ended with an error. The alarm comes first, so that a process that dies
 * does not lose it. None comes for the charge of another program.
 */
async function retryOne(
  tools: RetryOrphansTools,
  orphan: OrphanedCallback,
  nowMs: number,
): Promise<keyof RetriedOrphans> {
  let came: keyof RetriedOrphans;
  let isOfAnother = false;
  try {
    const { processorName, mode } = orphan.event;
    const books = tools.books.find((each) => each.name === processorName && each.mode === mode);
    // Undefined if the processor is no longer configured.
    const outcome = books === undefined ? undefined : await adoptOrphan({ ...tools, books }, orphan);
    came = outcome === undefined || outcome.kind === 'orphaned' ? 'waiting' : 'adopted';
    isOfAnother = outcome?.kind === 'orphaned' && !outcome.namesPayment;
  } catch (error) {
    tools.report(error);
    came = 'failed';
  }
  if (came === 'adopted' || nowMs - orphan.receivedAtMs < RETRY_FOR_MS) return came;
  if (!isOfAnother) tools.alarm?.('undecidable', orphan.event.chargeId);
  await tools.shelf.giveUp(orphan);
  return 'givenUp';
}
