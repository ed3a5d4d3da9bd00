import type { PayonceEvent } from '../../events/domain/event.ts';
import { RetryableError } from '../../kernel/faults.ts';
import { projectionOperation } from '../../kernel/ids.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { dayOf, type EventViews, headRows, totalKey, type ViewOwner, type ViewRow, viewsOf } from '../domain/views.ts';
import type { RowChange, ViewStore } from './view-store.ts';

export interface ProjectTools {
  readonly views: ViewStore;
  readonly runner: OperationRunner;
}

/** Races are decided again this often before the event has to come again. */
const MAX_ROUNDS = 8;

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
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const total = await views.read(key);
    if (total === undefined || (await views.exchange([{ key, from: total }]))) return;
  }
  throw contention('the total of a day');
}

/** Newer wins; the copies change together with the head, so that no list shows a payment twice or not at all. */
async function advanceHead(views: ViewStore, { owner, heads }: EventViews): Promise<void> {
  const [head] = heads;
  if (head === undefined) return;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const found = await views.read(head);
    if (found !== undefined && found.sequence >= head.sequence) return;
    if (await views.exchange(headChanges(owner, found, heads))) return;
  }
  throw contention('the head of a payment');
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

function contention(what: string): RetryableError {
  return new RetryableError('contention', `too many rivals at once for ${what}`, { retryAfterSeconds: 1 });
}
