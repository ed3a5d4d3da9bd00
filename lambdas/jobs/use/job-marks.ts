/** The marks of jobs: the position up to which a job has processed everything, kept across runs. */
export interface JobMarks {
  /** A strongly consistent read. @returns undefined when the mark was never set */
  readMark(jobId: string): Promise<string | undefined>;
  /**
   * Moves the mark, only if it is at `from`. Of two runs that move it, one succeeds, so that no run skips a gap.
   *
   * @param from undefined when the mark must not exist yet
   * @returns false when the mark has another value
   */
  moveMark(jobId: string, from: string | undefined, to: string): Promise<boolean>;
}
