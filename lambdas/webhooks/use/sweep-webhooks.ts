import type { Job } from '../../jobs/use/job.ts';
import { piecesJob } from '../../jobs/use/pieces-job.ts';
import type { Clock } from '../../kernel/world.ts';
import type { DueWebhooks, WebhookTasks } from './webhooks.ts';

export interface SweepWebhooksTools {
  readonly due: DueWebhooks;
  readonly tasks: WebhookTasks;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** About the number of tasks that the senders process in a minute. The rest remains due for the next run. */
const MAX_DUE = 4_000;

/**
 * Enqueues due tasks: retries with long waits, and tasks whose message was lost. A task that is enqueued twice takes effect
 * once.
 *
 * @returns the number of enqueued tasks
 */
export async function sweepWebhooks(tools: SweepWebhooksTools): Promise<number> {
  const tasks = await tools.due.due(tools.clock.nowMs(), MAX_DUE);
  if (tasks.length > 0) await tools.tasks.enqueue(tasks, 0);
  return tasks.length;
}

/** {@link sweepWebhooks} as a job. @param told receives the number of enqueued tasks */
export function sweepWebhooksJob(tools: SweepWebhooksTools, told: (swept: number) => void): Job<string> {
  return piecesJob({
    due: async () => {
      const swept = await sweepWebhooks(tools);
      told(swept);
      return { done: swept, left: 0, failed: 0 };
    },
  });
}
