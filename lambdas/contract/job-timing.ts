import { JOB_PAGE_SECONDS } from './jobs.ts';

/** The limits in time of a job's worker, each with its reason. */

/** A page's minute, and half a minute for what is under way at its end and for writing it down. Seconds. */
export const JOB_WORKER_TIMEOUT_SECONDS = JOB_PAGE_SECONDS + 30;

/**
 * A message is shown again when its worker is provably gone. Not the six times longer that AWS recommends: where a page kills
 * its workers, the next try must not wait for nine minutes, and a message that comes too early takes over without harm. Seconds.
 */
export const JOB_MESSAGE_HIDDEN_SECONDS = JOB_WORKER_TIMEOUT_SECONDS + 10;

/** Longer than the worker lives, and longer than its message is hidden: a run that lost its worker goes on before the next one begins. Seconds. */
export const JOB_LEASE_SECONDS = JOB_MESSAGE_HIDDEN_SECONDS + 50;

/** A page that kills its workers needs eight deliveries until its run is given up; the rest is for faults of the world. */
export const JOB_MESSAGE_RECEIVES = 12;

/** How often a run looks whether it may begin, while another one of its job is under way. Seconds, of SQS's 900 at most. */
export const JOB_WAIT_SECONDS = 20;

/** What a job may take that says nothing else. Seconds. */
export const JOB_DEFAULT_MAX_DURATION_SECONDS = 60 * 60;
