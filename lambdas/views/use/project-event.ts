import type { PayonceEvent } from '../../events/domain/event.ts';
import { projectionOperation } from '../../kernel/ids.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { rounds } from '../../once/use/rounds.ts';
import { dayOf, type EventViews, headRows, totalKey, type ViewOwner, type ViewRow, viewsOf } from '../domain/views.ts';
import type { RowChange, ViewStore } from './view-store.ts';

export interface ProjectTools {
  readonly views: ViewStore;
  readonly runner: OperationRunner;
}

/**
 * Writes what an event says into the Views: the same rows, in whatever order the events come, and however often. Its record
 * is the row that says that the event was seen, the last one that is written.
 *
 * @throws RetryableError or AmbiguousError when not all of it may have been written: the event must come again
 */
export function projectEvent(
  { views, runner }: ProjectTools,
  event: PayonceEvent,
): Promise<'projected' | 'projected_before'> {
  const said = viewsOf(event);
  return runner.record<undefined, 'projected' | 'projected_before'>(projectionOperation(event.event.id), {
    // Saves a redelivery its writes; without this line it would make the same rows again.
    find: async () => ((await views.read(said.seen)) === undefined ? undefined : 'projected_before'),
    prepare: async () => undefined,
    commit: async () => {
      await writeViews({ views }, said);
      return 'projected';
    },
  });
}

/** The same, without looking whether it was done before: whatever was wrong in these rows is right again. */
export async function writeViews({ views }: Pick<ProjectTools, 'views'>, said: EventViews): Promise<void> {
  await views.put(said.lasting);
  if (said.lasting.length > 0) await reopenDay(views, said.owner, said.occurredAtMs);
  await advanceHead(views, said);
  await views.put([said.seen]);
}

/**
 * Takes away the total of a day whose entries have changed. It comes after the entries are written, so no total is ever
 * without them, and nobody's clock matters:
 *
 *   closer     mark ────── sum ──────────── total ✗ (no mark)
 *   projector        entry ───── take mark
 *
 *   closer     mark ── sum ── total
 *   projector              entry ──── take total: the day is summed by whoever asks, until it is closed again
 */
export async function reopenDay(views: ViewStore, owner: ViewOwner, occurredAtMs: number): Promise<void> {
  const key = totalKey(owner, dayOf(occurredAtMs));
  await rounds('the total of a day', async () => {
    const total = await views.read(key);
    return total === undefined || (await views.exchange([{ key, from: total }])) ? 'gone' : 'again';
  });
}

/** Newer wins; the copies change together with the head, so that no list shows a payment twice or not at all. */
async function advanceHead(views: ViewStore, { owner, heads }: EventViews): Promise<void> {
  const [head] = heads;
  if (head === undefined) return;
  await rounds('the head of a payment', async () => {
    const found = await views.read(head);
    if (found !== undefined && found.sequence >= head.sequence) return 'newer';
    return (await views.exchange(headChanges(owner, found, heads))) ? 'advanced' : 'again';
  });
}

/** @param found the head as it is, to be replaced only if it still is */
export function headChanges(
  owner: ViewOwner,
  found: ViewRow | undefined,
  heads: readonly ViewRow[],
): readonly RowChange[] {
  const [head, ...copies] = heads;
  if (head === undefined) return [];
  const left = found === undefined ? [] : headRows(owner, found.sequence, found.body).slice(1);
  const outdated = left.filter(({ partition }) => copies.every((copy) => copy.partition !== partition));
  return [
    { key: head, from: found ?? null, to: head },
    ...copies.map((copy) => ({ key: copy, to: copy })),
    ...outdated.map((copy) => ({ key: copy })),
  ];
}
