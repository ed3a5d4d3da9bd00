import { type ActivityChain, activityObject } from '../../activity/domain/activity.ts';
import { type ActivityLog, entryOf, pageOfActivity } from '../../activity/use/activity-log.ts';
import { found, refusal } from '../../http/authenticated-api.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import type { OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { validateQuery } from '../../http/validate.ts';
import { defined } from '../../kernel/defined.ts';
import { type Mode, tenantId } from '../../kernel/ids.ts';
import { activityEntryQuery, activityQuery } from './ledger-schemas.ts';

/** The activity log of the deployment, or of a tenant and a mode, newest first. */
export const getActivity: OperatorRoute<{ readonly activity: ActivityLog }> = {
  method: 'GET',
  path: '/v1/admin/activity',
  role: 'viewer',
  handle: async ({ tools, request }) => {
    const query = validateQuery(activityQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { limit = DEFAULT_PAGE, starting_after: after } = query.value;
    const page = { limit, ...defined({ after }) };
    const listed = await pageOfActivity(tools.activity, chainOf(query.value), page);
    if (listed.kind === 'unknown_cursor') {
      const detail = 'starting_after must be the id of an entry that a page of this list has shown.';
      return refusal(problem('invalid_request', detail, 'starting_after'), request);
    }
    return found({ object: 'list', data: listed.entries.map(activityObject), has_more: listed.hasMore });
  },
};

export const getActivityEntry: OperatorRoute<{ readonly activity: ActivityLog }> = {
  method: 'GET',
  path: '/v1/admin/activity/{id}',
  role: 'viewer',
  handle: async ({ tools, request, id }) => {
    const query = validateQuery(activityEntryQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const entry = await entryOf(tools.activity, chainOf(query.value), id);
    if (entry === undefined) return refusal(problem('not_found', 'There is no such entry.'), request);
    return found(activityObject(entry));
  },
};

function chainOf({
  tenant,
  mode = 'live',
}: {
  readonly tenant?: string | undefined;
  readonly mode?: Mode | undefined;
}): ActivityChain {
  return tenant === undefined ? 'deployment' : { tenantId: tenantId(tenant), mode };
}
