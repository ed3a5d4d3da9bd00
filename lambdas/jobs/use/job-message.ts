import * as z from 'zod';
import type { RunId } from '../domain/job-run.ts';

/** Contains only the run's id and version; the run's row contains its state. */
export interface JobMessage {
  readonly jobId: string;
  readonly runId: RunId;
  readonly version: number;
}

const message = z.strictObject({
  jobId: z.string().min(1),
  runId: z
    .string()
    .regex(/^[^:]+:.+$/)
    .transform((id) => id as RunId),
  version: z.int().positive(),
});

export function jobMessageText({ jobId, runId, version }: JobMessage): string {
  return JSON.stringify({ jobId, runId, version });
}

export function parseJobMessage(body: string): JobMessage | undefined {
  try {
    return message.parse(JSON.parse(body));
  } catch {
    return undefined;
  }
}
