/** The request and the answer of the function that republishes events. Times in Unix milliseconds. */
export interface RepublishRequest {
  readonly sinceMs: number;
  readonly untilMs: number;
}

export interface RepublishAnswer {
  /** The number of outcomes in the processed part of the range. */
  readonly found: number;
  readonly published: number;
  /** The number of events that cannot be read or that the bus refuses permanently. The log names them. Absent when 0. */
  readonly unpublishable?: number;
  /** The start of the next request. Absent when the range is complete. */
  readonly nextMs?: number;
}

/** The working time of one request. After it, the answer says where to continue. Seconds. */
export const REPUBLISH_RUN_SECONDS = 45;

/** The function's timeout. It leaves time to end the publication that is under way. Seconds. */
export const REPUBLISH_TIMEOUT_SECONDS = 60;
