import type { Job, JobCounts } from '../../lambdas/jobs/use/job.ts';
import { RUN } from '../support/causes.ts';

/** No test needs that many pages. */
const MAX_PAGES = 10_000;
const PAGE_MS = 60_000;

/** Continues after errors, as a worker does. */
export async function sweepJob<Thing>(
  job: Job<Thing>,
  { nowMs, limit = 100 }: { readonly nowMs: number; readonly limit?: number },
): Promise<JobCounts & { readonly errors: readonly unknown[] }> {
  const run = { ...RUN, scheduledForMs: nowMs };
  const counts = { done: 0, left: 0, failed: 0 };
  const errors: unknown[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const page = await job.page(cursor, limit, run);
    for (const { thing, after } of page.items) {
      try {
        const counted = await job.handle(thing, { ...run, deadlineMs: nowMs + PAGE_MS });
        counts.done += counted.done;
        counts.left += counted.left;
        counts.failed += counted.failed;
      } catch (error) {
        errors.push(error);
        counts.failed += 1;
      }
      cursor = after;
    }
    if (page.next === undefined) return { ...counts, errors };
    cursor = page.next;
  }
  throw new Error('the job does not end');
}
