import type { Job } from '../../jobs/use/job.ts';
import { piecesJob } from '../../jobs/use/pieces-job.ts';
import type { Clock } from '../../kernel/world.ts';
import type { DueWebhooks, WebhookTasks } from './webhooks.ts';

export interface SweepWebhooksTools {
  readonly due: DueWebhooks;
  readonly tasks: WebhookTasks;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** As many as the senders get through in a minute; the rest is due at the next run as well. */
const MAX_DUE = 4_000;

/**
 * Brings what is due to whoever does it: retries whose wait was long, and all that was lost on its way. What is enqueued
 * twice is done once.
 *
 * @returns how many
 */
export async function sweepWebhooks(tools: SweepWebhooksTools): Promise<number> {
  const tasks = await tools.due.due(tools.clock.nowMs(), MAX_DUE);
  if (tasks.length > 0) await tools.tasks.enqueue(tasks, 0);
  return tasks.length;
}

/** The same as a job. @param told how many it has brought */
export function sweepWebhooksJob(tools: SweepWebhooksTools, told: (swept: number) => void): Job<string> {
  return piecesJob({
    due: async () => {
      const swept = await sweepWebhooks(tools);
      told(swept);
      return { done: swept, left: 0, failed: 0 };
    },
  });
}
