import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';
import * as z from 'zod';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import { type CallTargetTools, callTarget, type TargetCall } from '../use/call-target.ts';

const call = z.object({
  target: z.string(),
  job: z.string(),
  scheduledTime: z.iso.datetime({ offset: true }),
  tries: z.int().min(0).exactOptional(),
  notBeforeMs: z.int().exactOptional(),
}) satisfies z.ZodType<TargetCall>;

/** A message that cannot be parsed or processed is redelivered, until SQS moves it to the queue of missed runs. */
export function targetCalls(
  tools: CallTargetTools & { readonly telemetry: Telemetry },
): (event: SQSEvent) => Promise<SQSBatchResponse> {
  return async ({ Records }) => {
    const failed: { itemIdentifier: string }[] = [];
    for (const { messageId, body } of Records) {
      try {
        const read = call.parse(JSON.parse(body));
        const result = await callTarget(tools, read);
        tools.telemetry.run(`${read.job}:${read.scheduledTime}`, {}, { [result]: 1 });
      } catch (error) {
        tools.telemetry.fault(messageId, error);
        failed.push({ itemIdentifier: messageId });
      }
    }
    return { batchItemFailures: failed };
  };
}
