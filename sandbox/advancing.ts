import type { Charge } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { change } from './changing.ts';
import { type Decision, end } from './charge.ts';
import { endRefund, openDispute } from './money-back.ts';
import { type AdvanceTask, delivery, MAX_TASK_ATTEMPTS, waitSeconds } from './tasks.ts';
import type { SandboxWorld } from './world.ts';

/**
 * A redelivered task changes nothing. While the charge is not stored, the task is enqueued again.
 *
 * @throws Error after too many concurrent changes of the charge
 */
export async function advance(world: SandboxWorld, task: AdvanceTask): Promise<void> {
  const { chargeId, heldEventId } = task;
  const outcome = await change(world, chargeId, (charge) => nextStep(charge, task), {
    deliveryOf: (event) => delivery(event.id, { thenEventId: heldEventId }),
  });
  if (outcome.kind === 'busy') {
    throw new Error(`too many concurrent changes of the charge ${chargeId}; the task is retried`);
  }
  if (outcome.kind === 'missing' && task.attempt < MAX_TASK_ATTEMPTS) {
    await world.tasks.enqueue({ ...task, attempt: task.attempt + 1 }, waitSeconds(task.attempt));
  }
}

function nextStep(charge: Charge, { to, partId }: AdvanceTask): Decision {
  switch (to) {
    case 'succeed':
    case 'succeed_short':
    case 'decline':
      return end(charge, to);
    case 'dispute':
      return openDispute(charge, partId ?? '', undefined);
    case 'succeed_refund':
      return endRefund(charge, partId ?? '', 'succeeded');
    case 'fail_refund':
      return endRefund(charge, partId ?? '', 'failed');
  }
}
