import * as z from 'zod';
import { wholeNumber } from '../../http/validate.ts';

/** What the routes of jobs take. The API's documents are made from these same schemas. */

const MAX_PAGE = 100;
export const DEFAULT_RUNS_PAGE = 10;
/** A job's id, a colon and a time; an idempotency key is no longer. */
const LONGEST_RUN_ID = 128;

export const startRunBody = z
  .strictObject({
    scheduled_for: z.iso.datetime({ offset: true, error: 'must be a time as 2026-01-01T00:00:00Z' }).optional().meta({
      description:
        'The time that the run is for, ISO 8601 with a zone, cut to whole seconds; now when left out. At most 30 days ago.',
      example: '2026-01-01T00:00:00Z',
    }),
  })
  .meta({ id: 'StartJobRun' });

export const runsQuery = z.strictObject({
  limit: wholeNumber(1, MAX_PAGE, `How many runs at most; ${DEFAULT_RUNS_PAGE} when left out.`),
  starting_after: z
    .string()
    .max(LONGEST_RUN_ID, 'must be the id of a run of this job')
    .optional()
    .meta({ description: 'The `id` of the last run that you have: the page begins behind it, at what is older.' }),
});
