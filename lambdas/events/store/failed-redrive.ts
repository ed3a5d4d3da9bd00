import * as z from 'zod';
import type { RedriveRequest } from '../contract.ts';

/** The message of Lambda about a redrive that failed finally. It contains the request (Lambda, "Capturing records of Lambda asynchronous invocations"). */
const failedRedrive = z.object({
  requestPayload: z.object({ parked: z.string() }) satisfies z.ZodType<RedriveRequest>,
});

/**
 * The body of the message that was redriven first. A redrive that fails wraps it, and escapes its quotes: wrapped several times, it is
 * soon too long for Lambda.
 */
export function firstParked(body: string): string {
  for (let first = body; ; ) {
    const failed = failedRedrive.safeParse(parsedJson(first)).data;
    if (failed === undefined) return first;
    first = failed.requestPayload.parked;
  }
}

/** @returns undefined for what is no JSON */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
