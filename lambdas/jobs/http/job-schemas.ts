import * as z from 'zod';
import { MAX_UNIX_SECONDS, unixSecond, wholeNumber } from '../../http/validate.ts';

const MAX_PAGE = 100;
export const DEFAULT_RUNS_PAGE = 10;
export const RUN_ID = /^[a-z0-9-]{2,50}:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

export const startRunBody = z
  .strictObject({
    scheduled_for: unixSecond.optional().meta({
      description: 'The scheduled time of the run, in Unix seconds, at most 30 days ago. Default: the current time.',
      example: 1_772_366_400,
    }),
  })
  .meta({ id: 'StartJobRun' });

export const runsQuery = z.strictObject({
  created_from: wholeNumber(0, MAX_UNIX_SECONDS, 'Only runs scheduled at or after this time, in Unix seconds.'),
  created_to: wholeNumber(0, MAX_UNIX_SECONDS, 'Only runs scheduled before this time, in Unix seconds.'),
  limit: wholeNumber(1, MAX_PAGE, `Maximum number of runs. Default: ${DEFAULT_RUNS_PAGE}.`),
  starting_after: z.string().regex(RUN_ID, 'must be the id of a run of this job').optional().meta({
    description: 'The `id` of the last run of the previous page. This page begins with the next earlier run.',
  }),
});
