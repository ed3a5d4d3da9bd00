import { defined } from '../../kernel/defined.ts';
import type { Clock } from '../../kernel/world.ts';
import { JOB_PAGE_SECONDS } from '../contract/jobs.ts';
import { type JobRun, PAGE_ITEMS, type PageProgress, type RunCounts } from '../domain/job-run.ts';
import type { Job, JobItem, JobPage } from './job.ts';

interface PageTools {
  readonly job: Job;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly report: (error: unknown, item: string) => void;
}

const NOTHING: RunCounts = { done: 0, left: 0, failed: 0 };

/**
 * Items that remain after a minute belong to the next page. The first item is always processed, even if the read was
 * slow, so that every page makes progress.
 *
 * @throws when the page cannot be read
 */
export async function workPage(
  { job, clock, report }: PageTools,
  run: JobRun,
  attempt: 'whole_page' | 'one_item',
): Promise<PageProgress> {
  const deadlineMs = clock.nowMs() + JOB_PAGE_SECONDS * 1000;
  const { runId, scheduledForMs } = run;
  const page = await readPage(job, run, attempt === 'whole_page' ? PAGE_ITEMS : 1);
  const failures: string[] = [];
  const handle = async ({ thing, name }: JobItem<unknown>): Promise<RunCounts> => {
    try {
      return await job.handle(thing, { runId, scheduledForMs, deadlineMs });
    } catch (error) {
      report(error, name);
      failures.push(name);
      return { ...NOTHING, failed: 1 };
    }
  };
  const atOnce = Math.max(1, job.atOnce ?? 1);
  let counts = NOTHING;
  let items = 0;
  while (items < page.items.length && (items === 0 || clock.nowMs() < deadlineMs)) {
    const group = page.items.slice(items, items + atOnce);
    for (const result of await Promise.all(group.map(handle))) counts = sumOf(counts, result);
    items += group.length;
  }
  const cursor = items === page.items.length ? page.next : page.items[items - 1]?.after;
  return { counts, items, failures, ...defined({ cursor }) };
}

/** The name is absent when no item remains. */
export async function itemToSkip(job: Job, run: JobRun): Promise<{ readonly name?: string; readonly cursor?: string }> {
  const { items, next } = await readPage(job, run, 1);
  const [item] = items;
  return { ...defined({ name: item?.name, cursor: next }) };
}

/** If a job returns more items than `limit`, the run continues after the last item within the limit. */
async function readPage(job: Job, { cursor, runId, scheduledForMs }: JobRun, limit: number): Promise<JobPage<unknown>> {
  const page = await job.page(cursor, limit, { runId, scheduledForMs });
  const items = page.items.slice(0, limit);
  const next = items.length < page.items.length ? items.at(-1)?.after : page.next;
  return { items, ...defined({ next }) };
}

function sumOf(left: RunCounts, right: RunCounts): RunCounts {
  return { done: left.done + right.done, left: left.left + right.left, failed: left.failed + right.failed };
}
