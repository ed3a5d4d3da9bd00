import type { PayonceEvent } from '../../events/domain/event.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { rounds } from '../../once/use/rounds.ts';
import { totalKey, type ViewOwner } from '../domain/lists.ts';
import { dayOf, type EventViews, viewsOf } from '../domain/views.ts';
import { projectionOperation } from '../ids.ts';
import type { ViewStore } from './view-store.ts';

export interface ProjectTools {
  readonly views: ViewStore;
  readonly runner: OperationRunner;
}

/**
 * Writes the rows of an event into the Views. The result is the same for any order and number of deliveries, because
 * keys and contents are derived from the event. A deduplication record is therefore not needed; it would double the
 * write units and prevent a rebuild. The `seen` row marks the event as projected and is written last.
 *
 * @throws RetryableError, AmbiguousError when some rows may be missing; the event must then be redelivered
 */
export function projectEvent(
  { views, runner }: ProjectTools,
  event: PayonceEvent,
): Promise<'projected' | 'projected_before'> {
  const eventViews = viewsOf(event);
  return runner.record<undefined, 'projected' | 'projected_before'>(projectionOperation(event.event.id), {
    // This read is only an optimization: without it, a redelivery would write the same rows again.
    find: async () => ((await views.read(eventViews.projectedMark)) === undefined ? undefined : 'projected_before'),
    prepare: async () => undefined,
    commit: async () => {
      await writeViews({ views }, eventViews);
      await views.put([eventViews.projectedMark]);
      return 'projected';
    },
  });
}

/**
 * Writes the rows even if the event was already projected, which repairs damaged rows. Does not write the `seen` row,
 * because that row means that the event was published.
 */
export async function writeViews({ views }: Pick<ProjectTools, 'views'>, eventViews: EventViews): Promise<void> {
  await views.put(eventViews.lasting);
  if (eventViews.lasting.length > 0) await reopenDay(views, eventViews.owner, eventViews.occurredAtMs);
  await advanceHeads(views, eventViews);
}

/**
 * Deletes the total of a day whose entries have changed. Called after the entries are written, so that no total lacks
 * them, independent of clocks:
 *
 *   closer     mark ────── sum ──────────── total ✗ (no mark)
 *   projector        entry ───── delete mark
 *
 *   closer     mark ── sum ── total
 *   projector              entry ──── delete total: readers sum the entries until the day is closed again
 */
export async function reopenDay(views: ViewStore, owner: ViewOwner, occurredAtMs: number): Promise<void> {
  const key = totalKey(owner, dayOf(occurredAtMs));
  await rounds('the total of a day', async () => {
    const total = await views.read(key);
    return total === undefined || (await views.exchange([{ key, from: total }])) ? 'gone' : 'again';
  });
}

/**
 * Replaces a head if the new head is newer. A single row records that the object exists, and to which status list it
 * belongs.
 */
async function advanceHeads(views: ViewStore, { ofReference, heads }: EventViews): Promise<void> {
  for (const [index, head] of heads.entries()) {
    await rounds('the head of a payment or an order', async () => {
      const found = await views.read(head);
      if (found !== undefined && found.sequence >= head.sequence) return 'newer';
      if (found === undefined && index === 0) await views.put(ofReference);
      return (await views.exchange([{ key: head, from: found ?? null, to: head }])) ? 'advanced' : 'again';
    });
  }
}
