import * as z from 'zod';
import { LAST_SECOND, unixSecond, wholeNumber } from '../../http/validate.ts';

/** Request schemas of jobs. The API documents are generated from them. */

const MAX_PAGE = 100;
export const DEFAULT_RUNS_PAGE = 10;
/** Matches a run-id: a job's id, a colon and a time. */
export const RUN_ID = /^[a-z0-9-]{2,50}:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export const startRunBody = z
  .strictObject({
    scheduled_for: unixSecond.optional().meta({
      description: 'The scheduled time of the run, in Unix seconds. Defaults to now. At most 30 days ago.',
      example: 1_772_366_400,
    }),
  })
  .meta({ id: 'StartJobRun' });

export const runsQuery = z.strictObject({
  created_from: wholeNumber(0, LAST_SECOND, 'Only runs whose scheduled time is this or later. Unix seconds.'),
  created_to: wholeNumber(0, LAST_SECOND, 'Only runs whose scheduled time is earlier. Unix seconds.'),
  limit: wholeNumber(1, MAX_PAGE, `The maximum number of runs. Defaults to ${DEFAULT_RUNS_PAGE}.`),
  starting_after: z
    .string()
    .regex(RUN_ID, 'must be the id of a run of this job')
    .optional()
    .meta({ description: 'The `id` of the last run of the previous page. The page begins with the next older run.' }),
});
