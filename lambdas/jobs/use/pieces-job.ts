import { invariant } from '../../kernel/invariant.ts';
import type { Job, JobCounts, JobRunContext } from './job.ts';

/** Processes the due entries of one queue until the deadline. */
export type Piece = (run: JobRunContext & { readonly deadlineMs: number }) => Promise<JobCounts>;

/**
 * Each sweep reads a different queue, so an unavailable queue does not block the others. A sweep can be repeated
 * safely.
 *
 * @param pieces the sweeps by name; the names are also the cursors
 */
export function sweepsJob(pieces: Readonly<Record<string, Piece>>): Job<string> {
  const names = Object.keys(pieces);
  return {
    page: async (cursor, limit) => {
      const begin = cursor === undefined ? 0 : names.indexOf(cursor) + 1;
      const page = names.slice(begin, begin + limit);
      const last = page.at(-1);
      return {
        items: page.map((name) => ({ thing: name, name, after: name })),
        ...(last === undefined || last === names.at(-1) ? {} : { next: last }),
      };
    },
    handle: async (name, run) => {
      const piece = pieces[name];
      invariant(piece !== undefined, `the job has no sweep ${name}`);
      return piece(run);
    },
  };
}
