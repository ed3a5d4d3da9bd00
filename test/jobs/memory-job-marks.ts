import type { JobMarks } from '../../lambdas/jobs/use/job-marks.ts';

/** Passes the same contract suite as the one on DynamoDB. */
export class MemoryJobMarks implements JobMarks {
  readonly #marks = new Map<string, number>();

  async readMark(jobId: string): Promise<number | undefined> {
    return this.#marks.get(jobId);
  }

  async moveMark(jobId: string, fromMs: number | undefined, toMs: number): Promise<boolean> {
    if (this.#marks.get(jobId) !== fromMs) return false;
    this.#marks.set(jobId, toMs);
    return true;
  }
}
