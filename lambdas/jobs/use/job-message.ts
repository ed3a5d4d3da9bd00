import * as z from 'zod';
import type { RunId } from '../domain/job-run.ts';

/** Names the run that is to be worked at, and nothing of how it stands. */
export interface JobMessage {
  readonly jobId: string;
  readonly runId: RunId;
}

const message = z.strictObject({
  jobId: z.string().min(1),
  runId: z
    .string()
    .regex(/^[^:]+:.+$/)
    .transform((id) => id as RunId),
});

export function jobMessageText({ jobId, runId }: JobMessage): string {
  return JSON.stringify({ jobId, runId });
}

/** @returns undefined when it is none */
export function parseJobMessage(body: string): JobMessage | undefined {
  try {
    return message.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}
