/** A mark is the position up to which a job has processed everything. It persists across runs. */
export interface JobMarks {
  /** With strong consistency. @returns undefined when the mark was never set */
  readMark(jobId: string): Promise<string | undefined>;
  /**
   * Of two concurrent runs, only one succeeds, so no run moves the mark past unprocessed work.
   *
   * @param from undefined when the mark must not exist yet
   * @returns false when the mark has a different value, which may be `to`: the response to the write may have been lost
   */
  moveMark(jobId: string, from: string | undefined, to: string): Promise<boolean>;
}
