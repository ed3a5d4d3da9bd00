import { invariant } from '../../kernel/invariant.ts';
import type { ScanPage, ScanPosition, ScanRequest } from './view-store.ts';

/** Progress of a scan, by segment: the position to continue from; '' if not started; null if complete. */
export type ScanPositions = readonly (ScanPosition | null)[];

export interface ScanPlan<Found> {
  readonly step: (step: ScanRequest) => Promise<ScanPage<Found>>;
  /** Must be idempotent, because a resumed scan processes its last pages again. */
  readonly each: (found: Found) => Promise<void>;
  /** Called after every page. */
  readonly progress: (positions: ScanPositions) => Promise<void>;
}

/** Number of concurrent calls of `each` within a page. */
const AT_ONCE = 8;
/** Maximum number of pages per segment; with 200 rows per page, 200 million rows. */
const MAX_STEPS = 1_000_000;

export async function scanAll<Found>({ step, each, progress }: ScanPlan<Found>, begin: ScanPositions): Promise<void> {
  const positions = [...begin];
  const segments = begin.length;
  const scanSegment = async (segment: number): Promise<void> => {
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      const after = positions[segment];
      if (after === null || after === undefined) return;
      const { found, next } = await step({ segment, segments, ...(after === '' ? {} : { after }) });
      for (let start = 0; start < found.length; start += AT_ONCE) {
        await Promise.all(found.slice(start, start + AT_ONCE).map(each));
      }
      positions[segment] = next ?? null;
      await progress([...positions]);
    }
    invariant(false, 'a segment exceeds the maximum number of pages');
  };
  await Promise.all(begin.map((_, segment) => scanSegment(segment)));
}
