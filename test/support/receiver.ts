import type { Clock } from '../../lambdas/kernel/world.ts';
import type { Late } from '../../lambdas/webhooks/use/webhooks.ts';

/** Calls `notify` of each entry in `late` whose `afterMs` passes before the response. */
export async function receiverTakes(
  clock: Pick<Clock, 'sleep'>,
  takesMs: number,
  late: readonly Late[],
): Promise<void> {
  let passedMs = 0;
  for (const { afterMs, notify } of late.filter((each) => each.afterMs < takesMs)) {
    await clock.sleep(afterMs - passedMs);
    passedMs = afterMs;
    notify();
  }
  await clock.sleep(takesMs - passedMs);
}
