import * as z from 'zod';
import { TerminalError } from '../../kernel/faults.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import { type JobEntry, jobEntry } from '../contract/jobs.ts';
import type { JobFiring } from '../contract/runs.ts';
import { type RequestedRun, type RequestRunTools, requestRun } from '../use/request-run.ts';

export interface ExecutorTools extends RequestRunTools {
  readonly telemetry: Telemetry;
}

const firing = z.object({
  job: z.string(),
  scheduledTime: z.iso.datetime({ offset: true }),
}) satisfies z.ZodType<JobFiring>;

/** When the handler throws, Lambda retries the invocation; the retry requests the same run-id. */
export function cronExecutor(tools: ExecutorTools): (event: unknown) => Promise<RequestedRun> {
  return async (event) => {
    try {
      const { entry, scheduledForMs } = readFiring(event);
      const asked = await requestRun(tools, entry, scheduledForMs);
      tools.telemetry.run(asked.runId, {}, { asked: asked.kind === 'asked' ? 1 : 0 });
      return asked;
    } catch (error) {
      tools.telemetry.fault('ask for a run', error);
      throw error;
    }
  };
}

/** @throws TerminalError `firing_malformed` or `job_unknown`; the message quotes the invalid value */
function readFiring(event: unknown): { readonly entry: JobEntry; readonly scheduledForMs: number } {
  const read = firing.safeParse(event);
  if (!read.success) {
    const [issue] = read.error.issues;
    const field = issue?.path.join('.') || 'its input';
    const given = shown((event as Partial<Record<string, unknown>> | null)?.[field]);
    throw new TerminalError(
      'firing_malformed',
      `A schedule fired with ${field} ${given}: the input must be { "job": "<id>", "scheduledTime": "2026-01-01T00:00:00Z" }.`,
    );
  }
  const { job, scheduledTime } = read.data;
  const entry = jobEntry(job);
  if (entry === undefined)
    throw new TerminalError('job_unknown', `A schedule fired for an unknown job: ${shown(job)}.`);
  return { entry, scheduledForMs: Date.parse(scheduledTime) };
}

const LONGEST_SHOWN = 80;

function shown(given: unknown): string {
  return (JSON.stringify(given) ?? 'left out').slice(0, LONGEST_SHOWN);
}
