import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { type JobMessage, parseJobMessage } from '../use/job-message.ts';
import type { JobTelemetry } from './job-telemetry.ts';

export interface JobWorkerParts {
  /**
   * @param receives number of deliveries of the message, at least 1
   * @throws when the message must be delivered again
   */
  readonly work: (message: JobMessage, receives: number) => Promise<string>;
  readonly parking: {
    park(message: { readonly body: string; readonly reason: 'malformed'; readonly detail: string }): Promise<void>;
  };
  readonly telemetry: Pick<JobTelemetry, 'worked' | 'fault'>;
}

/**
 * Only failed messages are redelivered, until the queue dead-letters them. A message that names no valid run is parked
 * immediately.
 */
export function createJobQueueHandler({
  work,
  parking,
  telemetry,
}: JobWorkerParts): (event: SQSEvent) => Promise<SQSBatchResponse> {
  const settle = async ({ messageId, body, attributes }: SQSRecord): Promise<boolean> => {
    try {
      const message = parseJobMessage(body);
      if (message === undefined)
        await parking.park({ body, reason: 'malformed', detail: 'the message names no valid run' });
      else telemetry.worked(message, await work(message, Number(attributes.ApproximateReceiveCount)));
      return true;
    } catch (error) {
      telemetry.fault(messageId, error);
      return false;
    }
  };
  return async ({ Records }) => {
    const failed: string[] = [];
    // Process messages sequentially, because each may take the full minute of a page. The queue's batch size is 1.
    for (const record of Records) if (!(await settle(record))) failed.push(record.messageId);
    return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
  };
}
