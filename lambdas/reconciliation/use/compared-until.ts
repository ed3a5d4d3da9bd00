import type { JobMarks } from '../../jobs/use/job-marks.ts';
import { timeOf } from '../../payments/use/transition-reader.ts';

/** The id of the hourly job, under which its progress mark is stored. It must never change. */
export const RECENT_JOB_ID = 'reconcile-recent';

/**
 * Returns the time before which the hourly job has compared everything, in Unix milliseconds.
 * @returns undefined before the first complete comparison
 */
export async function comparedUntilMs(marks: Pick<JobMarks, 'readMark'>): Promise<number | undefined> {
  const mark = await marks.readMark(RECENT_JOB_ID);
  return mark === undefined ? undefined : timeOf(mark);
}
