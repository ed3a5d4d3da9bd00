import type { ActivityLog } from '../../activity/use/activity-log.ts';
import { refusal } from '../../http/authenticated-api.ts';
import type { OperatorEndpoint } from '../../http/endpoint.ts';
import { tenantId } from '../../kernel/ids.ts';
import { MISMATCH_ROUTES, type MismatchTools } from '../../reconciliation/http/mismatch-routes.ts';
import type { IsTenant } from '../../tenants/owners.ts';
import type { ListPaymentsTools } from '../../views/use/list-payments.ts';
import type { ApprovalTools } from '../use/approve.ts';
import type { TimelineTools } from '../use/read-timeline.ts';
import { APPROVAL_ROUTES } from './approval-routes.ts';
import { type GetAttentionTools, getAttention } from './get-attention.ts';
import { getTimeline } from './get-timeline.ts';
import { KEY_RECORD_ROUTES } from './key-record-routes.ts';
import { KEY_ROUTES, type KeyTools } from './key-routes.ts';
import { TENANT_ID } from './ledger-schemas.ts';
import { LIMIT_ROUTES, type LimitTools } from './limit-routes.ts';
import { getActivity, getActivityEntry } from './list-activity.ts';
import { LIST_ROUTES, type OperatorListTools } from './operator-lists.ts';
import { searchPayments } from './payment-search.ts';
import { postAnnotation } from './post-annotation.ts';
import { CHANGE_ROUTES } from './post-changes.ts';
import { postCorrection } from './post-correction.ts';
import { postDecision } from './post-decision.ts';
import { postDismissal } from './post-dismissal.ts';
import { postMessageDismissal, postRedrive } from './post-redrive.ts';
import { NO_TENANT } from './recorded-answer.ts';

export interface AdminTools
  extends GetAttentionTools,
    ApprovalTools,
    KeyTools,
    LimitTools,
    MismatchTools,
    OperatorListTools {
  readonly clock: ApprovalTools['clock'];
  readonly effects: ApprovalTools['effects'];
  readonly store: ApprovalTools['store'];
  readonly digest: ApprovalTools['digest'];
  readonly books: ApprovalTools['books'];
  readonly views: GetAttentionTools['views'];
  readonly search: Omit<ListPaymentsTools, 'books'>;
  readonly activity: readonly ActivityLog[];
  readonly timeline: TimelineTools;
  readonly isTenant: IsTenant;
}

/** Without the job routes. If the query names an unknown tenant, the response is 404. */
export const ADMIN_ROUTES: readonly OperatorEndpoint<AdminTools>[] = [
  postAnnotation,
  postCorrection,
  postDecision,
  ...CHANGE_ROUTES,
  ...APPROVAL_ROUTES,
  ...MISMATCH_ROUTES,
  getTimeline,
  getActivity,
  getActivityEntry,
  ...KEY_ROUTES,
  ...LIMIT_ROUTES,
  ...KEY_RECORD_ROUTES,
  getAttention,
  searchPayments,
  ...LIST_ROUTES,
  postRedrive,
  postMessageDismissal,
  postDismissal,
].map(forKnownTenant);

function forKnownTenant(route: OperatorEndpoint<AdminTools>): OperatorEndpoint<AdminTools> {
  return {
    ...route,
    handle: async (call) => {
      const { tools, request } = call;
      const [tenant = ''] = request.query.get('tenant') ?? [];
      // The route itself refuses a malformed tenant id, and names the parameter.
      const isKnown = !TENANT_ID.test(tenant) || (await tools.isTenant(tenantId(tenant)));
      return isKnown ? route.handle(call) : refusal(NO_TENANT, request);
    },
  };
}
