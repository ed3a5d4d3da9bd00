/** The marks of jobs. A mark is the position up to which a job has processed everything, kept across runs. */
export interface JobMarks {
  /** Reads the mark, strongly consistently. @returns undefined when the mark was never set */
  readMark(jobId: string): Promise<string | undefined>;
  /**
   * Moves the mark, only if its value is `from`. Of two runs that move the mark, one succeeds, so that no run skips a
   * gap.
   *
   * @param from undefined when the mark must not exist yet
   * @returns false when the mark has another value
   */
  moveMark(jobId: string, from: string | undefined, to: string): Promise<boolean>;
}
