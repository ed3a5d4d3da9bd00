import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { DEFAULT_PAGE, pageLimit } from '../../http/lists.ts';
import type { OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, LAST_SECOND, validateQuery, wholeNumber } from '../../http/validate.ts';
import { defined } from '../../kernel/defined.ts';
import type { Operator } from '../../tenants/operators.ts';
import type { ViewStore } from '../../views/use/view-store.ts';
import { MISMATCH_ID, type OpenMismatch } from '../domain/mismatch-view.ts';
import { listMismatches, readMismatch } from '../use/mismatch-view.ts';

export interface MismatchTools {
  /** The view of mismatches that scheduled comparisons found. */
  readonly views: Pick<ViewStore, 'range'>;
}

type Call = CallBy<MismatchTools, Operator>;

export const mismatchesQuery = z.strictObject({
  created_from: wholeNumber(0, LAST_SECOND, 'Only of payments created at this time or later. Unix seconds.'),
  created_to: wholeNumber(0, LAST_SECOND, 'Only of payments created before this time. Unix seconds.'),
  limit: pageLimit('mismatches'),
  starting_after: z
    .string()
    .regex(MISMATCH_ID, 'must be the id of a mismatch')
    .optional()
    .meta({ description: 'The `id` of the last mismatch of the previous page.' }),
});

/** The routes of the open mismatches that scheduled comparisons found. */
export const MISMATCH_ROUTES: readonly OperatorRoute<MismatchTools>[] = [
  { method: 'GET', path: '/v1/admin/mismatches', role: 'viewer', handle: listOpenMismatches },
  { method: 'GET', path: '/v1/admin/mismatches/{id}', role: 'viewer', handle: showMismatch },
];

async function listOpenMismatches({ tools, request }: Call): Promise<Handled> {
  const query = validateQuery(mismatchesQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { limit = DEFAULT_PAGE, starting_after: after, created_from: createdFrom, created_to: createdTo } = query.value;
  const listed = await listMismatches(tools.views, {
    limit,
    ...defined({ after, createdFrom, createdTo }),
  });
  if (listed.kind === 'unknown_cursor') {
    return refusal(problem('invalid_request', `${listed.param} must be the id of a mismatch.`, listed.param), request);
  }
  return found({ object: 'list', data: listed.open.map(mismatchObject), has_more: listed.hasMore });
}

async function showMismatch({ tools, request, id }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const open = await readMismatch(tools.views, id);
  if (open === undefined) return refusal(problem('not_found', 'There is no such mismatch.'), request);
  return found(mismatchObject(open));
}

/** Renders a mismatch as the API shows it; amounts in minor units. */
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
