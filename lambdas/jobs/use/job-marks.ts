/** How far a job has come through time, kept from one run to the next. Unix milliseconds. */
export interface JobMarks {
  /** Consistent. @returns undefined when it was never set */
  readMark(jobId: string): Promise<number | undefined>;
  /**
   * Moves it, only from where it stands: what two runs both want to move is moved once, and nobody jumps over a gap.
   *
   * @param fromMs undefined when it must not be there yet
   * @returns false when it stands elsewhere
   */
  moveMark(jobId: string, fromMs: number | undefined, toMs: number): Promise<boolean>;
}
