import { ViewsRow } from '../../kernel/contract/rows.ts';
import { mostShards, shardsAt } from '../../kernel/platform/shards.ts';
import { timeOf, type ViewKey } from '../domain/lists.ts';

/*
 * At high peak rates, each partition of a list is divided into parts: `EVENT#ten_a#live#2` continues in
 * `EVENT#ten_a#live#2.1` and so on. Part 0 has no suffix. A row's sort key selects its part, and the time in the sort
 * key determines the number of parts, so a row's key never changes.
 */

/** The lists that get a row for every payment, order or event. All other partitions are small. */
const DIVIDED_LISTS: readonly string[] = [ViewsRow.payment, ViewsRow.order, ViewsRow.event, ViewsRow.book];

const PART = /^(?<partition>.*)\.(?<part>\d+)$/s;

function isDivided(partition: string): boolean {
  return DIVIDED_LISTS.some((prefix) => partition.startsWith(prefix));
}

/** A partition that already names a part stays unchanged. */
export function storedPartition({ partition, sort }: ViewKey): string {
  if (!isDivided(partition)) return partition;
  const named = PART.exec(partition)?.groups;
  return named === undefined
    ? partName(partition, partOf(sort))
    : partName(named['partition'] ?? '', Number(named['part']));
}

/**
 * Inverts {@link storedPartition}. If a row is in a different part than its sort key selects, the returned partition
 * keeps the part number, so that a rebuild removes the row.
 */
export function listPartition(stored: string, sort: string): string {
  if (!isDivided(stored)) return stored;
  const named = PART.exec(stored)?.groups;
  const partition = named?.['partition'] ?? stored;
  const part = Number(named?.['part'] ?? 0);
  return part === partOf(sort) ? partition : `${partition}.${part}`;
}

/**
 * Returns the stored parts of a partition that can contain rows of the range.
 *
 * @param until end of the range of sort keys (exclusive)
 */
export function partsOf(partition: string, until: string): readonly string[] {
  if (!isDivided(partition)) return [partition];
  const untilMs = timeOf(until);
  // `LAST_SORT_KEY` contains no time.
  const { listParts } = mostShards(Number.isNaN(untilMs) ? undefined : untilMs + 1);
  return Array.from({ length: listParts }, (_, part) => partName(partition, part));
}

export function maxParts(): number {
  return mostShards().listParts;
}

function partName(partition: string, part: number): string {
  return part === 0 ? partition : `${partition}.${part}`;
}

function partOf(sort: string): number {
  const { listParts } = shardsAt(timeOf(sort));
  return listParts === 1 ? 0 : hashOf(sort) % listParts;
}

/**
 * Returns the FNV-1a hash of a text (draft-eastlake-fnv) without its lowest eight bits, which depend on fewer bits of
 * the text.
 */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 8;
}
