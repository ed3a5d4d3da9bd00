/** Metrics of jobs, as their workers count them and the stacks watch them. Each is counted under the id of its job. */
export const JobMetric = {
  /** A run has come to its end; some of its items may have failed. */
  succeeded: 'job_succeeded',
  /** A run was given up: it took too long, could not get at its lock, or could not be read. */
  failed: 'job_failed',
  /** An item went wrong and was reported; a later run has it again. */
  itemFailed: 'job_item_failed',
  /** An item killed its worker again and again, and was passed over by name. */
  setAside: 'job_set_aside',
  /** A worker found that another had taken over, and wrote nothing. */
  fenced: 'job_fenced',
} as const;

export type JobMetricName = (typeof JobMetric)[keyof typeof JobMetric];

/** Which job a count is of; all workers count under one name of a service. */
export const JOB_DIMENSION = 'job';
export const JOB_SERVICE = 'jobs';
