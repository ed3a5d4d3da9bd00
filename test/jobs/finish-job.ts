import type { Job, JobCounts } from '../../lambdas/jobs/use/job.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { RUN } from '../support/causes.ts';

export interface FinishedJob extends JobCounts {
  readonly names: readonly string[];
  readonly pages: number;
}

const MAX_PAGES = 1_000;

/** With `doubled`, each item is processed twice, as after a crash. */
export async function finishJob(
  job: Job,
  scheduledForMs: number,
  { limit = 2, doubled = false, deadlineMs = Infinity } = {},
): Promise<FinishedJob> {
  const counts = { done: 0, left: 0, failed: 0 };
  const names: string[] = [];
  let cursor: string | undefined;
  for (let pages = 1; pages <= MAX_PAGES; pages += 1) {
    const page = await job.page(cursor, limit, { ...RUN, scheduledForMs });
    invariant(page.items.length <= limit, 'the page has more items than requested');
    for (const { thing, name } of page.items) {
      names.push(name);
      if (doubled) await job.handle(thing, { ...RUN, scheduledForMs, deadlineMs });
      const { done, left, failed } = await job.handle(thing, { ...RUN, scheduledForMs, deadlineMs });
      counts.done += done;
      counts.left += left;
      counts.failed += failed;
    }
    cursor = page.next;
    if (cursor === undefined) return { ...counts, names, pages };
  }
  invariant(false, 'the job does not end');
}
