/** The marks of jobs: the time up to which a job has processed everything, kept across runs. Unix milliseconds. */
export interface JobMarks {
  /** A strongly consistent read. @returns undefined when the mark was never set */
  readMark(jobId: string): Promise<number | undefined>;
  /**
   * Moves the mark, only if it is at `fromMs`. Of two runs that move it, one succeeds, so that no run skips a gap.
   *
   * @param fromMs undefined when the mark must not exist yet
   * @returns false when the mark has another value
   */
  moveMark(jobId: string, fromMs: number | undefined, toMs: number): Promise<boolean>;
}
