import { SQSClient } from '@aws-sdk/client-sqs';
import type { Queues } from './system-platform.ts';

/** A message that could not be sent is sent again when its source is redelivered or the request is retried. */
const ONE_ATTEMPT = {
  maxAttempts: 1,
  requestHandler: { requestTimeout: 2_000, throwOnRequestTimeout: true, connectionTimeout: 1_000 },
};
/** Amazon SQS developer guide, "Delay queues". */
const LONGEST_DELAY_SECONDS = 900;

export const queues: Queues = { sqs: (config = ONE_ATTEMPT) => new SQSClient(config) };

export function delayOf(seconds: number): number {
  return Math.min(LONGEST_DELAY_SECONDS, Math.max(0, Math.ceil(seconds)));
}
