import type { ActivityLog } from '../../activity/use/activity-log.ts';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import type { OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { tenantId } from '../../kernel/ids.ts';
import type { DecisionTools } from '../../payments/use/decide-payment.ts';
import type { Operator } from '../../tenants/operators.ts';
import type { IsTenant } from '../../tenants/owners.ts';
import type { ListPaymentsTools } from '../../views/use/list-payments.ts';
import type { ViewStore } from '../../views/use/view-store.ts';
import type { OpenMismatch } from '../domain/mismatch-view.ts';
import { listMismatches, readMismatch } from '../use/mismatch-view.ts';
import type { TimelineTools } from '../use/read-timeline.ts';
import { APPROVAL_ROUTES } from './approval-routes.ts';
import { getTimeline } from './get-timeline.ts';
import { KEY_RECORD_ROUTES } from './key-record-routes.ts';
import { KEY_ROUTES, type KeyTools } from './key-routes.ts';
import { mismatchesQuery, TENANT_ID } from './ledger-schemas.ts';
import { LIMIT_ROUTES, type LimitTools } from './limit-routes.ts';
import { getActivity, getActivityEntry } from './list-activity.ts';
import { LIST_ROUTES, type OperatorListTools } from './operator-lists.ts';
import { searchPayments } from './payment-search.ts';
import { postAnnotation } from './post-annotation.ts';
import { postCorrection } from './post-correction.ts';
import { postDecision } from './post-decision.ts';
import { postRedrive } from './post-redrive.ts';
import { NO_TENANT } from './recorded-answer.ts';

export interface AdminTools extends DecisionTools, KeyTools, LimitTools, OperatorListTools {
  readonly clock: DecisionTools['clock'];
  readonly search: Omit<ListPaymentsTools, 'books'>;
  /** The mismatches that scheduled comparisons found. */
  readonly views: Pick<ViewStore, 'range'>;
  readonly activity: ActivityLog;
  readonly timeline: TimelineTools;
  readonly isTenant: IsTenant;
}

type Call = CallBy<AdminTools, Operator>;
type Route = OperatorRoute<AdminTools>;

const getMismatches: Route = {
  method: 'GET',
  path: '/v1/admin/mismatches',
  role: 'viewer',
  handle: listOpenMismatches,
};

/** The open mismatches of the scheduled comparisons. */
async function listOpenMismatches({ tools, request }: Call): Promise<Handled> {
  const query = validateQuery(mismatchesQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { limit = DEFAULT_PAGE, starting_after: after, created_from: createdFrom, created_to: createdTo } = query.value;
  const listed = await listMismatches(tools.views, {
    limit,
    ...(after === undefined ? {} : { after }),
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(createdTo === undefined ? {} : { createdTo }),
  });
  if (listed.kind === 'unknown_cursor') {
    return refusal(problem('invalid_request', `${listed.param} must be the id of a mismatch.`, listed.param), request);
  }
  return found({ object: 'list', data: listed.open.map(mismatchObject), has_more: listed.hasMore });
}

const getMismatch: Route = {
  method: 'GET',
  path: '/v1/admin/mismatches/{id}',
  role: 'viewer',
  handle: showMismatch,
};

async function showMismatch({ tools, request, id }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const open = await readMismatch(tools.views, id);
  if (open === undefined) return refusal(problem('not_found', 'There is no such mismatch.'), request);
  return found(mismatchObject(open));
}

/** Amounts in minor units. */
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

/** The routes for operators, apart from those of jobs. An unknown tenant in the query of any is answered 404. */
export const ADMIN_ROUTES: readonly Route[] = [
  postAnnotation,
  postCorrection,
  postDecision,
  ...APPROVAL_ROUTES,
  getMismatches,
  getMismatch,
  getTimeline,
  getActivity,
  getActivityEntry,
  ...KEY_ROUTES,
  ...LIMIT_ROUTES,
  ...KEY_RECORD_ROUTES,
  searchPayments,
  ...LIST_ROUTES,
  postRedrive,
].map(ofKnownTenant);

function ofKnownTenant(route: Route): Route {
  return {
    ...route,
    handle: async (call) => {
      const { tools, request } = call;
      const [tenant = ''] = request.query.get('tenant') ?? [];
      // Any other text is refused by the route, which names the parameter.
      const isKnown = !TENANT_ID.test(tenant) || (await tools.isTenant(tenantId(tenant)));
      return isKnown ? route.handle(call) : refusal(NO_TENANT, request);
    },
  };
}
