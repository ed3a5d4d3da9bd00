import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { type JobMessage, parseJobMessage } from '../use/job-message.ts';
import type { JobTelemetry } from './job-telemetry.ts';

/** What a worker is made of: the use case and its surroundings, put together in the function's folder. */
export interface JobWorkerParts {
  /** Does one page of the run. @throws when its message is to come again */
  readonly work: (message: JobMessage) => Promise<string>;
  /** Sets a message aside where people look. */
  readonly parking: {
    park(message: { readonly body: string; readonly reason: 'malformed'; readonly detail: string }): Promise<void>;
  };
  readonly telemetry: Pick<JobTelemetry, 'worked' | 'fault'>;
}

/**
 * A function behind the queue of a `JobWorker`. A message that fails comes again, alone, until its queue sets it aside; one
 * that names no run is parked at once.
 */
export function jobWorker({
  work,
  parking,
  telemetry,
}: JobWorkerParts): (event: SQSEvent) => Promise<SQSBatchResponse> {
  /** @returns whether it is done with */
  const settle = async ({ messageId, body }: SQSRecord): Promise<boolean> => {
    try {
      const message = parseJobMessage(body);
      if (message === undefined) await parking.park({ body, reason: 'malformed', detail: 'it names no run' });
      else telemetry.worked(message, await work(message));
      return true;
    } catch (error) {
      telemetry.fault(messageId, error);
      return false;
    }
  };
  return async ({ Records }) => {
    const failed: string[] = [];
    // One by one: each may take a page's minute to itself. Its queue gives it one at a time.
    for (const record of Records) if (!(await settle(record))) failed.push(record.messageId);
    return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
  };
}
