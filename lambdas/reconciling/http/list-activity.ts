import { activityObject } from '../../activity/domain/activity.ts';
import { type ActivityLog, entryOf, pageOfActivity } from '../../activity/use/activity-log.ts';
import { found, type Route, refusal } from '../../http/authenticated-api.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { activityQuery } from './ledger-schemas.ts';

/** The activity log of the caller's tenant and mode, newest first. */
export const getActivity: Route<{ readonly activity: ActivityLog }> = {
  method: 'GET',
  path: '/v1/activity',
  scope: Scopes.admin,
  handle: async ({ tools, caller, request }) => {
    const query = validateQuery(activityQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { limit = DEFAULT_PAGE, starting_after: after } = query.value;
    const listed = await pageOfActivity(tools.activity, caller, { limit, ...(after === undefined ? {} : { after }) });
    if (listed.kind === 'unknown_cursor') {
      const detail = 'starting_after must be the id of an entry that a page of this list has shown.';
      return refusal(problem('invalid_request', detail, 'starting_after'), request);
    }
    return found({ object: 'list', data: listed.entries.map(activityObject), has_more: listed.hasMore });
  },
};

/** An entry of the caller's tenant and mode. */
export const getActivityEntry: Route<{ readonly activity: ActivityLog }> = {
  method: 'GET',
  path: '/v1/activity/{id}',
  scope: Scopes.admin,
  handle: async ({ tools, caller, request, id }) => {
    const query = validateQuery(emptyQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const entry = await entryOf(tools.activity, caller, id);
    if (entry === undefined) return refusal(problem('not_found', 'There is no such entry.'), request);
    return found(activityObject(entry));
  },
};
