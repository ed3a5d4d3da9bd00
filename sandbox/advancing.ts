import { change } from './changing.ts';
import { end } from './charge.ts';
import { openDispute } from './money-back.ts';
import { type AdvanceTask, delivery, MAX_LOOKS, waitSeconds } from './tasks.ts';
import type { SandboxWorld } from './world.ts';

/** Advances a charge by one step. A redelivered task finds the step done and changes nothing. */
export async function advance(world: SandboxWorld, task: AdvanceTask): Promise<void> {
  const { chargeId, to, disputeId, heldEventId } = task;
  const outcome = await change(
    world,
    chargeId,
    (charge) => (to === 'dispute' ? openDispute(charge, disputeId ?? world.newId('dp_'), undefined) : end(charge, to)),
    { deliveryOf: (event) => delivery(event.id, { thenEventId: heldEventId }) },
  );
  if (outcome.kind === 'busy') {
    throw new Error(`too many concurrent changes of the charge ${chargeId}; the task is retried`);
  }
  if (outcome.kind === 'missing' && task.attempt < MAX_LOOKS) {
    await world.tasks.enqueue({ ...task, attempt: task.attempt + 1 }, waitSeconds(task.attempt));
  }
}
