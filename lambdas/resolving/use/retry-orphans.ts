import { adoptOrphan, type ReceiveCallbackTools } from '../../callbacks/receive-callback.ts';
import type { Job } from '../../jobs/use/job.ts';
import { sweepsJob } from '../../jobs/use/pieces-job.ts';
import { nextLookUpMs } from '../../kernel/looks.ts';
import { type OrphanedCallback, orphanSchedule } from '../../payments/use/effect-store.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import type { OrphanStore } from '../../payments/use/unfinished-work.ts';
import { inParallelByName, laneOf } from './lanes.ts';

/** Time after which orphans are no longer retried and are left to operators, in milliseconds. */
const RETRY_FOR_MS = 24 * 60 * 60_000;
/** Maximum number of orphans of each kind, own and foreign, that a run reads. */
const MAX_ORPHANS = 1_000;
/**
 * Time budget of a run for each kind of orphan, in milliseconds. A run ends before the function's timeout, because one
 * read at the processor takes at most five seconds.
 */
const RUN_FOR_MS = 22_000;

export interface RetryOrphansTools extends Omit<ReceiveCallbackTools, 'books'> {
  readonly orphanStore: OrphanStore;
  readonly books: readonly ProcessorBooks[];
  /** Called with the error of one orphan. The other orphans are still retried. */
  readonly report: (error: unknown) => void;
}

export interface RetriedOrphans {
  readonly adopted: number;
  readonly waiting: number;
  readonly givenUp: number;
  /** Number of orphans whose retry failed with an error. A later run retries them. */
  readonly failed: number;
}

/**
 * Orphans whose charges name no payment are retried last, within a separate time limit, so that another program's
 * callbacks do not delay Payonce's. A failed orphan does not block the others.
 *
 * @param startedAtMs scheduled time of the run, in Unix milliseconds; orphans that become due later are left to the
 * next run
 * @param deadlineMs time after which no orphan is retried, in Unix milliseconds
 */
export async function retryOrphans(
  tools: RetryOrphansTools,
  startedAtMs: number = tools.clock.nowMs(),
  deadlineMs: number = Number.POSITIVE_INFINITY,
): Promise<RetriedOrphans> {
  const { clock, orphanStore } = tools;
  const counts = { adopted: 0, waiting: 0, givenUp: 0, failed: 0 };
  for (const kind of ['own', 'foreign'] as const) {
    const orphans = await orphanStore.waiting(kind, { untilMs: startedAtMs, limit: MAX_ORPHANS });
    const untilMs = Math.min(clock.nowMs() + RUN_FOR_MS, deadlineMs);
    await inParallelByName(
      orphans,
      ({ event }) => event.chargeId,
      async (orphan, enter) => {
        await enter(laneOf({ ...orphan.event, name: orphan.event.processorName }));
        if (clock.nowMs() >= untilMs) counts.waiting += 1;
        else counts[await retryOne(tools, orphan, startedAtMs)] += 1;
      },
    );
  }
  return counts;
}

export function retryOrphansJob(tools: RetryOrphansTools, onRetried: (retried: RetriedOrphans) => void): Job<string> {
  return sweepsJob({
    orphans: async ({ scheduledForMs, deadlineMs }) => {
      const retried = await retryOrphans(tools, scheduledForMs, deadlineMs);
      onRetried(retried);
      const { adopted, givenUp, waiting, failed } = retried;
      return { done: adopted + givenUp, left: waiting, failed };
    },
  });
}

/** @returns `failed` if an error was reported and the orphan stays in its queue */
async function retryOne(
  tools: RetryOrphansTools,
  orphan: OrphanedCallback,
  startedAtMs: number,
): Promise<keyof RetriedOrphans> {
  try {
    const result = await adopt(tools, orphan);
    if (result === 'adopted') return result;
    return await keep(tools, orphan, startedAtMs, result);
  } catch (error) {
    tools.report(error);
    return 'failed';
  }
}

type Adopted = 'adopted' | 'waiting' | 'foreign' | 'failed';

async function adopt(tools: RetryOrphansTools, orphan: OrphanedCallback): Promise<Adopted> {
  const { processorName, mode } = orphan.event;
  const books = tools.books.find((each) => each.name === processorName && each.mode === mode);
  // The processor is no longer configured.
  if (books === undefined) return 'waiting';
  try {
    const outcome = await adoptOrphan({ ...tools, books }, orphan);
    if (outcome.kind !== 'orphaned') return 'adopted';
    return outcome.namesPayment ? 'waiting' : 'foreign';
  } catch (error) {
    tools.report(error);
    return 'failed';
  }
}

/**
 * Keeps an orphan in its queue for a day, and then gives the orphan up, even if every attempt failed with an error. The
 * alarm is raised before the orphan is given up, so that a crash does not lose the alarm. Another program's charge
 * raises no alarm.
 */
async function keep(
  { clock, orphanStore, alarm }: RetryOrphansTools,
  orphan: OrphanedCallback,
  startedAtMs: number,
  result: Exclude<Adopted, 'adopted'>,
): Promise<keyof RetriedOrphans> {
  // After an error, it is unknown whether the charge is foreign, so keep the previous value.
  const now = result === 'failed' ? orphan : { ...orphan, isForeign: result === 'foreign' };
  const lastMs = orphan.receivedAtMs + RETRY_FOR_MS;
  if (clock.nowMs() >= lastMs) {
    if (now.isForeign !== true) alarm?.('undecidable', orphan.event.chargeId);
    await orphanStore.giveUp(now);
    return 'givenUp';
  }
  await orphanStore.postponeOrphan(now, Math.min(lastMs, nextLookUpMs(orphanSchedule(now), startedAtMs)));
  return result === 'failed' ? 'failed' : 'waiting';
}
