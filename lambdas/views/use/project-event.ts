import type { PayonceEvent } from '../../events/domain/event.ts';
import { defined } from '../../kernel/defined.ts';
import type { Clock } from '../../kernel/world.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { rounds } from '../../once/use/rounds.ts';
import { totalKey, type ViewOwner } from '../domain/lists.ts';
import { DAY_MS, dayOf, type EventViews, isInReview, type ViewRow, viewsOf } from '../domain/views.ts';
import { projectionOperation } from '../ids.ts';
import type { RowChange, ViewStore } from './view-store.ts';

export interface ProjectTools {
  readonly views: ViewStore;
  readonly runner: OperationRunner;
  /**
   * If set, the total of a day is read only after the day has ended, so that not every event of a tenant reads the same
   * row.
   * @default the total of the day is read for every event
   */
  readonly clock?: Pick<Clock, 'nowMs'>;
}

/**
 * The result is the same for any order and number of deliveries, because keys and contents are derived from the event.
 * A deduplication record is therefore not needed; it would double the write units and prevent a rebuild. The mark of
 * the projected event is written last.
 *
 * @throws RetryableError, AmbiguousError when some rows may be missing; the event must then be redelivered
 */
export function projectEvent(
  { runner, ...tools }: ProjectTools,
  event: PayonceEvent,
): Promise<'projected' | 'projected_before'> {
  const eventViews = viewsOf(event);
  let heads: readonly (ViewRow | undefined)[] | undefined;
  return runner.record<undefined, 'projected' | 'projected_before'>(projectionOperation(event.event.id), {
    // This read is only an optimization. Without it, a redelivery would write the same rows again.
    find: async () => {
      const [mark, ...found] = await tools.views.readAll([eventViews.projectedMark, ...eventViews.heads]);
      heads = found;
      return mark === undefined ? undefined : 'projected_before';
    },
    prepare: async () => undefined,
    commit: async () => {
      await writeViews(tools, eventViews, heads);
      await tools.views.put([eventViews.projectedMark]);
      return 'projected';
    },
  });
}

/**
 * Writes the rows even if the event was already projected, which repairs damaged rows. Does not write the mark of the
 * projected event, because the mark means that the event was published.
 *
 * @param heads the stored heads, if they were read before
 */
export async function writeViews(
  { views, clock }: Pick<ProjectTools, 'views' | 'clock'>,
  eventViews: EventViews,
  heads?: readonly (ViewRow | undefined)[],
): Promise<void> {
  const { lasting, ofReference, owner, occurredAtMs } = eventViews;
  const isFirst = heads !== undefined && heads[0] === undefined;
  await views.put(isFirst ? [...lasting, ...ofReference] : lasting);
  // Read the clock after the write. Days are closed an hour after their end, so clocks may differ by up to an hour.
  const hasEnded = clock === undefined || clock.nowMs() >= dayOf(occurredAtMs) + DAY_MS;
  if (lasting.length > 0 && hasEnded) await reopenDay(views, owner, occurredAtMs);
  await advanceHeads(views, eventViews, heads);
}

/**
 * Deletes the total, or the mark, of a day whose entries have changed. Call this after the entries are written, so that
 * no total lacks them:
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
 * The head of a payment or order lists it both among all of them and among those with its status, so one write changes
 * both lists. The row in the list of reviews changes in the same transaction.
 */
async function advanceHeads(
  views: ViewStore,
  eventViews: EventViews,
  known?: readonly (ViewRow | undefined)[],
): Promise<void> {
  const { ofReference, heads } = eventViews;
  for (const [index, head] of heads.entries()) {
    let isKnown = known !== undefined;
    await rounds('a row of a payment or an order in the Views', async () => {
      const isUsed = isKnown;
      isKnown = false;
      const found = isUsed ? known?.[index] : await views.read(head);
      if (found !== undefined && found.sequence >= head.sequence) return 'newer';
      if (found === undefined && index === 0 && !isUsed) await views.put(ofReference);
      const changes = [
        { key: head, from: found ?? null, to: head },
        ...(index === 0 ? reviewChange(eventViews, found) : []),
      ];
      return (await views.exchange(changes)) ? 'advanced' : 'again';
    });
  }
}

/**
 * A later event in the same review keeps the row, which contains the start time of the review.
 *
 * @param before the row with the previous state
 */
function reviewChange(
  { review: { row: to, ...key } }: Pick<EventViews, 'review'>,
  before: ViewRow | undefined,
): readonly RowChange[] {
  const wasInReview = before !== undefined && isInReview(before);
  if ((to !== undefined) === wasInReview) return [];
  return [{ key, ...defined({ to }) }];
}
