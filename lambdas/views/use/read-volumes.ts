import { invariant } from '../../kernel/invariant.ts';
import { timeSortKey } from '../../kernel/places.ts';
import { exactMinor } from '../../payments/domain/sums.ts';
import { timeOf, totalsPartition, type ViewOwner } from '../domain/lists.ts';
import { DAY_MS } from '../domain/views.ts';
import { byCurrencyThenType, type Volume, type Volumes } from '../domain/volumes.ts';
import { closedVolumes, type Period, sumVolumes } from './close-days.ts';
import type { ViewStore } from './view-store.ts';

/** The amount is a safe integer, so it is exact as a JSON number. */
export interface DayVolume extends Omit<Volume, 'amount'> {
  /** UTC midnight. */
  readonly dayMs: number;
  readonly amountMinor: number;
}

export interface VolumesQuery {
  /** UTC midnight, inclusive. */
  readonly fromMs: number;
  /** UTC midnight, exclusive. */
  readonly untilMs: number;
  /** @default all currencies */
  readonly currency?: string;
}

/**
 * Returns counts and amounts by day, currency and event type, oldest first, from the totals of closed days and the
 * events of open days. The results lag behind the Ledger by the delivery time of events.
 *
 * @throws TerminalError when a sum exceeds the largest safe integer
 * @throws RetryableError when the volumes cannot be read now
 */
export async function readVolumes(
  views: Pick<ViewStore, 'range'>,
  owner: ViewOwner,
  { fromMs, untilMs, currency }: VolumesQuery,
): Promise<readonly DayVolume[]> {
  const partition = totalsPartition(owner);
  const limit = (untilMs - fromMs) / DAY_MS;
  const rows = await views.range({ partition, from: timeSortKey(fromMs), until: timeSortKey(untilMs), limit });
  const volumes = new Map<number, Volumes>();
  let openFromMs = fromMs;
  for (const row of rows) {
    const closed = closedVolumes(row);
    if (closed === undefined) continue;
    const dayMs = timeOf(row.sort);
    await sumOpen(views, owner, { fromMs: openFromMs, untilMs: dayMs }, volumes);
    volumes.set(dayMs, closed);
    openFromMs = dayMs + DAY_MS;
  }
  await sumOpen(views, owner, { fromMs: openFromMs, untilMs }, volumes);
  return [...volumes]
    .sort(([left], [right]) => left - right)
    .flatMap(([dayMs, ofDay]) =>
      [...ofDay.values()]
        .filter((volume) => currency === undefined || volume.currency === currency)
        .sort(byCurrencyThenType)
        .map(({ amount, ...volume }) => ({ dayMs, ...volume, amountMinor: exactMinor(amount) })),
    );
}

async function sumOpen(
  views: Pick<ViewStore, 'range'>,
  owner: ViewOwner,
  open: Required<Period>,
  volumes: Map<number, Volumes>,
): Promise<void> {
  if (open.fromMs === open.untilMs) return;
  const days = await sumVolumes(views, owner, open, false);
  invariant(days !== undefined, 'an event that an earlier version projected has no amount; rebuild the Views');
  for (const [dayMs, ofDay] of days) volumes.set(dayMs, ofDay);
}
