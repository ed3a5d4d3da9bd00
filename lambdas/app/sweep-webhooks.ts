import type { DueWebhooks, WebhookTasks } from './ports/webhooks.ts';
import type { Clock } from './ports/world.ts';

/** As many as the senders get through in a minute; the rest is due at the next run as well. */
const MAX_DUE = 4_000;

/**
 * Brings what is due to whoever does it: retries whose wait was long, and all that was lost on its way. What is enqueued
 * twice is done once.
 *
 * @returns how many
 */
export async function sweepWebhooks(tools: {
  readonly due: DueWebhooks;
  readonly tasks: WebhookTasks;
  readonly clock: Pick<Clock, 'nowMs'>;
}): Promise<number> {
  const tasks = await tools.due.due(tools.clock.nowMs(), MAX_DUE);
  if (tasks.length > 0) await tools.tasks.enqueue(tasks, 0);
  return tasks.length;
}
