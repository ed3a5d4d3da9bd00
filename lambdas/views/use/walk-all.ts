import { invariant } from '../../kernel/invariant.ts';
import type { WalkPage, WalkPosition, WalkStep } from './view-store.ts';

/** How far a walk has come, by segment: where it goes on, or null where it is done. */
export type Walked = readonly (WalkPosition | null)[];

export interface WalkPlan<Found> {
  readonly step: (step: WalkStep) => Promise<WalkPage<Found>>;
  /** May do things twice: a walk that is taken up again repeats its last pages. */
  readonly each: (found: Found) => Promise<void>;
  /** Told after every page. */
  readonly progress: (walked: Walked) => Promise<void>;
}

/** Of one page at a time; a page has some hundred. */
const AT_ONCE = 8;
/** Of one segment: two hundred million rows. */
const MAX_STEPS = 1_000_000;

/**
 * Goes through everything, all segments at once, page by page.
 *
 * @param begin '' where a segment has not begun
 */
export async function walkAll<Found>({ step, each, progress }: WalkPlan<Found>, begin: Walked): Promise<void> {
  const walked = [...begin];
  const segments = begin.length;
  const walkSegment = async (segment: number): Promise<void> => {
    for (let steps = 0; steps < MAX_STEPS; steps += 1) {
      const after = walked[segment];
      if (after === null || after === undefined) return;
      const { found, next } = await step({ segment, segments, ...(after === '' ? {} : { after }) });
      for (let start = 0; start < found.length; start += AT_ONCE) {
        await Promise.all(found.slice(start, start + AT_ONCE).map(each));
      }
      walked[segment] = next ?? null;
      await progress([...walked]);
    }
    invariant(false, 'a segment holds more than is ever walked through');
  };
  await Promise.all(begin.map((_, segment) => walkSegment(segment)));
}
