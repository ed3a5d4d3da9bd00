import * as z from 'zod';
import { FILE_DAYS } from '../contract.ts';
import { EXPORT_KINDS } from '../domain/data-export.ts';
import { EXPORT_ID } from '../ids.ts';

/** Response schemas of exports. */

const DAY = '2026-03-01';

const listed = z.looseObject({
  id: z.string().regex(EXPORT_ID).meta({ example: 'exp_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
  object: z.literal('export'),
  kind: z.enum(EXPORT_KINDS),
  from: z.string().meta({ format: 'date', description: 'The first day, in UTC.', example: DAY }),
  to: z.string().meta({ format: 'date', description: 'The last day, in UTC.', example: DAY }),
  filters: z.looseObject({}).meta({ description: 'The filters of the request, by the names of its fields.' }),
  until: z.int().meta({
    description:
      'Rows before this time: the end of the last day, or the second of the request. Unix seconds. `GET /v1/balances?at=` with this time gives ' +
      'the sums of all entries until then.',
    example: 1772366400,
  }),
  status: z.enum(['pending', 'running', 'completed', 'failed']),
  rows: z
    .int()
    .meta({ description: 'Rows so far. The line with the names of the columns does not count.', example: 42 }),
  bytes: z.int().meta({ description: 'Bytes of the file so far.', example: 6_120 }),
  failure: z.enum(['not_readable', 'too_large', 'upload_lost']).nullable().meta({
    description:
      'The reason why there is no file. After `too_large`, request a shorter range; otherwise, repeat the request.',
  }),
  requested_by: z.string().meta({ description: 'The id of the API key, or the name of the operator.' }),
  created: z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 }),
  ended: z.int().nullable().meta({ description: 'Unix time in seconds.' }),
  file_expires: z
    .int()
    .nullable()
    .meta({ description: `The file is kept for ${FILE_DAYS} days. Unix time in seconds.` }),
});

export const listedExport = listed.meta({ id: 'Export' });
export const shownExport = listed
  .extend({
    url: z.string().nullable().meta({
      description: 'A link to the file that works without a key, for 15 minutes. Read the export again for a new link.',
    }),
    url_expires: z.int().nullable().meta({ description: 'Unix time in seconds.' }),
  })
  .meta({ id: 'ExportWithLink' });
export const exportList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(listedExport).meta({ description: 'Newest first.' }),
    has_more: z.boolean(),
  })
  .meta({ id: 'ExportList' });
