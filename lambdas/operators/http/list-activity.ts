import * as z from 'zod';
import { type ActivityChain, activityObject } from '../../activity/domain/activity.ts';
import { type ActivityLog, entryOf, pageOfActivity } from '../../activity/use/activity-log.ts';
import { found, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { defined } from '../../kernel/defined.ts';
import { type Mode, tenantId } from '../../kernel/ids.ts';
import type { Operator } from '../../tenants/operators.ts';
import { activity, activityList } from './activity-answers.ts';
import { activityEntryQuery, activityQuery } from './ledger-schemas.ts';

type Read<Query extends z.ZodObject> = ReadingCall<{ readonly activity: readonly ActivityLog[] }, Query, Operator>;

export const getActivity = reading({
  path: '/v1/admin/activity',
  role: 'viewer',
  query: activityQuery,
  handle: async ({ tools, request, query }: Read<typeof activityQuery>) => {
    const { limit = DEFAULT_PAGE, starting_after: after } = query;
    const page = { limit, ...defined({ after }) };
    const listed = await pageOfActivity(tools.activity, chainOf(query), page);
    if (listed.kind === 'unknown_cursor') {
      const detail = 'starting_after must be the id of an entry from an earlier page of this list.';
      return refusal(problem('invalid_request', detail, 'starting_after'), request);
    }
    return found({ object: 'list', data: listed.entries.map(activityObject), has_more: listed.hasMore });
  },
  docs: {
    operationId: 'listActivity',
    tag: 'Ledger',
    summary: 'List actions of operators',
    description:
      'Without `tenant`: actions on the deployment, for example on tenants, keys of operators, job runs and queues. With `tenant`: actions on the tenant, for example on its ' +
      'API keys, payments and webhook endpoints. An action on a tenant and the entry about it are written together, or not at all. The entries form a hash chain and never change.',
    answers: { 200: { description: 'A page of entries.', schema: activityList } },
  },
});

export const getActivityEntry = reading({
  path: '/v1/admin/activity/{id}',
  role: 'viewer',
  query: activityEntryQuery,
  handle: async ({ tools, request, id, query }: Read<typeof activityEntryQuery>) => {
    const entry = await entryOf(tools.activity, chainOf(query), id);
    if (entry === undefined) return refusal(problem('not_found', 'There is no such entry.'), request);
    return found(activityObject(entry));
  },
  docs: {
    operationId: 'getActivity',
    tag: 'Ledger',
    summary: 'Retrieve an entry of the activity log',
    description: 'An entry never changes.',
    path: z.object({ id: activity.shape.id.meta({ description: 'The id of the entry.' }) }),
    answers: { 200: { description: 'The entry.', schema: activity } },
  },
});

function chainOf({
  tenant,
  mode = 'live',
}: {
  readonly tenant?: string | undefined;
  readonly mode?: Mode | undefined;
}): ActivityChain {
  return tenant === undefined ? 'deployment' : { tenantId: tenantId(tenant), mode };
}
