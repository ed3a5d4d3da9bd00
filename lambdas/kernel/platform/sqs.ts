import { SQSClient } from '@aws-sdk/client-sqs';
import type { Queues } from './system-platform.ts';

/** One attempt: a message that was not sent is not acknowledged, or is sent again by a retry of its request. */
const ONE_ATTEMPT = {
  maxAttempts: 1,
  requestHandler: { requestTimeout: 2_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 },
};
/** The maximum of Amazon SQS (developer guide, "Delay queues"). Seconds. */
const LONGEST_DELAY_SECONDS = 900;

export const queues: Queues = { sqs: (config = ONE_ATTEMPT) => new SQSClient(config) };

/** The delay of a message that SQS takes: whole seconds, at most a quarter of an hour. */
export function delayOf(seconds: number): number {
  return Math.min(LONGEST_DELAY_SECONDS, Math.max(0, Math.ceil(seconds)));
}
