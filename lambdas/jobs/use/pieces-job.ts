import { invariant } from '../../kernel/invariant.ts';
import type { Job, JobCounts, JobRunContext } from './job.ts';

/** Work that reads a queue and does what is due, within the time that it is given. */
export type Piece = (run: JobRunContext & { readonly deadlineMs: number }) => Promise<JobCounts>;

/**
 * A job of a few pieces, one after the other: each sweeps a queue of its own, so that one which cannot be read now does not
 * hold up the others. A piece that is done again sweeps again, which is harmless.
 *
 * @param pieces by names that are cursors too
 */
export function piecesJob(pieces: Readonly<Record<string, Piece>>): Job<string> {
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
      invariant(piece !== undefined, `there is no piece ${name}`);
      return piece(run);
    },
  };
}
