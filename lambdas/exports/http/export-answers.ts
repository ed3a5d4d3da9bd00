import * as z from 'zod';
import { FILE_DAYS } from '../contract.ts';
import { EXPORT_KINDS } from '../domain/data-export.ts';
import { EXPORT_ID } from '../ids.ts';

const DAY = '2026-03-01';

const listed = z.looseObject({
  id: z.string().regex(EXPORT_ID).meta({ example: 'exp_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
  object: z.literal('export'),
  kind: z.enum(EXPORT_KINDS),
  from: z.string().meta({ format: 'date', description: 'The first day, in UTC.', example: DAY }),
  to: z.string().meta({ format: 'date', description: 'The last day, in UTC.', example: DAY }),
  filters: z.looseObject({}).meta({ description: 'The filters of the request, by field name.' }),
  until: z.int().meta({
    description:
      'The export contains rows from before this time, in Unix seconds: the end of the last day, or the time of the request if that is earlier. `GET /v1/balances?at=` with this time returns ' +
      'the sums of all entries until then.',
    example: 1772366400,
  }),
  status: z.enum(['pending', 'running', 'completed', 'failed']),
  rows: z.int().meta({ description: 'The number of rows so far, without the header line.', example: 42 }),
  bytes: z.int().meta({ description: 'The size of the file so far, in bytes.', example: 6_120 }),
  failure: z.enum(['not_readable', 'too_large', 'upload_lost']).nullable().meta({
    description:
      'Why there is no file. After `too_large`, request a shorter range; otherwise, request the export again with a new idempotency key.',
  }),
  requested_by: z.string().meta({ description: 'The id of the API key, or the name of the operator.' }),
  created: z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 }),
  ended: z.int().nullable().meta({ description: 'Unix time in seconds.' }),
  file_expires: z
    .int()
    .nullable()
    .meta({
      description: `The time until which the file is kept, ${FILE_DAYS} days in total, in Unix seconds. Null if there is no file.`,
    }),
});

export const listedExport = listed.meta({ id: 'Export' });
export const shownExport = listed
  .extend({
    url: z.string().nullable().meta({
      description:
        'A pre-signed URL for the file, valid for 15 minutes, which needs no API key. To get a new URL, retrieve the export again.',
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
