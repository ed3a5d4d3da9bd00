import type { Job } from '../../jobs/use/job.ts';
import type { Owners } from '../../tenants/owners.ts';
import type { ViewOwner } from '../domain/lists.ts';
import { type CloseDaysTools, closeDays } from './close-days.ts';

export interface CloseAllDaysTools extends CloseDaysTools {
  readonly owners: Owners;
}

/** Number of days per batch. A typical day takes much less than a second; the deadline is checked between batches. */
const DAYS_AT_ONCE = 5;
/**
 * Maximum number of batches per tenant and mode (400 × 5 days, more than five years), enough if no day was ever closed.
 */
const MAX_BATCHES = 400;

/** The job counts closed days as done, and each owner with days that remain as left. */
export function closeAllDaysJob(tools: CloseAllDaysTools): Job<ViewOwner> {
  return {
    page: async (cursor, limit) => {
      const found = await tools.owners.list(cursor, limit);
      const items = found.map(({ name, owner }) => ({ thing: owner, name, after: name }));
      const last = items.at(-1);
      return last === undefined || items.length < limit ? { items } : { items, next: last.after };
    },
    handle: async (owner, { deadlineMs }) => {
      let done = 0;
      for (let batch = 0; batch < MAX_BATCHES && tools.clock.nowMs() < deadlineMs; batch += 1) {
        const { closed, more } = await closeDays(tools, owner, DAYS_AT_ONCE);
        done += closed;
        if (!more) return { done, left: 0, failed: 0 };
        // A rival is changing or closing the remaining days.
        if (closed === 0) break;
      }
      return { done, left: 1, failed: 0 };
    },
  };
}
