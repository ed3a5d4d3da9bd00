import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type OperatorEndpoint, type ReadingCall, reading } from '../../http/endpoint.ts';
import { DEFAULT_PAGE, pageLimit } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { MAX_UNIX_SECONDS, wholeNumber } from '../../http/validate.ts';
import type { JobMarks } from '../../jobs/use/job-marks.ts';
import { defined } from '../../kernel/defined.ts';
import type { Operator } from '../../tenants/operators.ts';
import type { ViewStore } from '../../views/use/view-store.ts';
import { MISMATCH_ID, type OpenMismatch } from '../domain/mismatch-view.ts';
import { comparedUntilMs, listMismatches, readMismatch } from '../use/mismatch-view.ts';
import { mismatch, mismatchList } from './mismatch-answers.ts';

export interface MismatchTools {
  readonly views: Pick<ViewStore, 'range'>;
  readonly marks: Pick<JobMarks, 'readMark'>;
}

const mismatchesQuery = z.strictObject({
  created_from: wholeNumber(
    0,
    MAX_UNIX_SECONDS,
    'Only mismatches of payments or charges created at this time or later, in Unix seconds.',
  ),
  created_to: wholeNumber(
    0,
    MAX_UNIX_SECONDS,
    'Only mismatches of payments or charges created before this time, in Unix seconds.',
  ),
  limit: pageLimit('mismatches'),
  starting_after: z
    .string()
    .regex(MISMATCH_ID, 'must be the id of a mismatch')
    .optional()
    .meta({ description: 'The `id` of the last mismatch of the previous page.' }),
});

const getMismatches = reading({
  path: '/v1/admin/mismatches',
  role: 'viewer',
  query: mismatchesQuery,
  handle: listOpenMismatches,
  docs: {
    operationId: 'listMismatches',
    tag: 'Ledger',
    summary: 'List differences between the Ledger and the processor',
    description:
      'Lists the open differences of all tenants, and charges that belong to no known payment. Scheduled comparisons detect them: every hour ' +
      'over the time since the last complete comparison (at most 25 hours), every night over the last week. To compare now, start a run of ' +
      'the job `reconcile-recent`, which does the same up to the minute in which it was started, and compares all open differences again.',
    answers: { 200: { description: 'A page of differences.', schema: mismatchList } },
  },
});

async function listOpenMismatches(
  call: ReadingCall<MismatchTools, typeof mismatchesQuery, Operator>,
): Promise<Handled> {
  const { tools, request, query } = call;
  const { limit = DEFAULT_PAGE, starting_after: after, created_from: createdFrom, created_to: createdTo } = query;
  const [listed, untilMs] = await Promise.all([
    listMismatches(tools.views, { limit, ...defined({ after, createdFrom, createdTo }) }),
    comparedUntilMs(tools.marks),
  ]);
  if (listed.kind === 'unknown_cursor') {
    return refusal(problem('invalid_request', `${listed.param} must be the id of a mismatch.`, listed.param), request);
  }
  return found({
    object: 'list',
    data: listed.open.map(mismatchObject),
    has_more: listed.hasMore,
    compared_until: untilMs === undefined ? null : Math.floor(untilMs / 1000),
  });
}

const getMismatch = reading({
  path: '/v1/admin/mismatches/{id}',
  role: 'viewer',
  handle: showMismatch,
  docs: {
    operationId: 'getMismatch',
    tag: 'Ledger',
    summary: 'Retrieve a difference',
    description: 'The difference as the last comparison found it. It is removed when a comparison finds no difference.',
    path: z.object({ id: mismatch.shape.id.meta({ description: 'The id of the difference.' }) }),
    answers: { 200: { description: 'The difference.', schema: mismatch } },
  },
});

async function showMismatch({ tools, request, id }: CallBy<MismatchTools, Operator>): Promise<Handled> {
  const open = await readMismatch(tools.views, id);
  if (open === undefined) return refusal(problem('not_found', 'There is no such mismatch.'), request);
  return found(mismatchObject(open));
}

function mismatchObject(open: OpenMismatch): Record<string, unknown> {
  const { paymentId, paymentStatus, currency, processorMinor, ledgerMinor, chargeIds, kind } = open.mismatch;
  const { name, mode, account } = open.books;
  return {
    id: open.id,
    object: 'mismatch',
    tenant: open.owner?.tenantId ?? null,
    mode: open.owner?.mode ?? null,
    payment: paymentId ?? null,
    payment_status: paymentStatus ?? null,
    currency,
    processor_amount: processorMinor,
    ledger_amount: ledgerMinor,
    difference: processorMinor - ledgerMinor,
    charges: chargeIds,
    kind,
    processor: { name, mode, account },
    status: open.status,
    first_seen: Math.floor(open.firstSeenAtMs / 1000),
    last_seen: Math.floor(open.lastSeenAtMs / 1000),
  };
}

export const MISMATCH_ROUTES: readonly OperatorEndpoint<MismatchTools>[] = [getMismatches, getMismatch];
