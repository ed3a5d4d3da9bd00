import * as z from 'zod';
import type { RedriveRequest } from '../contract.ts';

/**
 * Lambda's message about a redrive whose retries are exhausted. It contains the request (Lambda, "Capturing records of
 * Lambda asynchronous invocations").
 */
const failedRedrive = z.object({
  requestPayload: z.object({ parked: z.string() }) satisfies z.ZodType<RedriveRequest>,
});

/**
 * If the body of the original message were not unwrapped, each failed redrive would wrap it once more and escape the
 * quotes again, and the message would exceed Lambda's limit after several redrives.
 */
export function firstParked(body: string): string {
  for (let first = body; ; ) {
    const failed = failedRedrive.safeParse(parsedJson(first)).data;
    if (failed === undefined) return first;
    first = failed.requestPayload.parked;
  }
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
