import type { Clock } from '../../kernel/world.ts';
import { rounds } from '../../once/use/rounds.ts';
import type { WebhookOwner } from '../domain/webhook-endpoint.ts';
import { isAwake, withAnnouncement } from '../domain/webhook-lane.ts';
import type { WebhookStore } from './webhooks.ts';

/**
 * Call this before the deliveries are written, so that the lane runs even if the caller crashes.
 *
 * @param runsByItself returns whether the lane runs without being woken @default {@link isAwake}
 * @returns whether the lane was woken
 * @throws RetryableError, AmbiguousError when the store fails
 */
export async function wakeLane(
  { webhooks, clock }: { readonly webhooks: WebhookStore; readonly clock: Pick<Clock, 'nowMs'> },
  owner: WebhookOwner,
  endpointId: string,
  runsByItself = isAwake,
): Promise<boolean> {
  return rounds<boolean>('this lane', async () => {
    const was = await webhooks.readLane(endpointId);
    if (was !== undefined && runsByItself(was, clock.nowMs())) return false;
    const now = withAnnouncement(was, owner, endpointId, clock.nowMs());
    const outcome = await webhooks.write({ lane: was === undefined ? { now } : { was, now } });
    return outcome.kind === 'written' ? true : 'again';
  });
}
