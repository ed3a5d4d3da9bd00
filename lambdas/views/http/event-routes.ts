import * as z from 'zod';
import { EVENT_ID, PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { type Call, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { hasOneCursor, listHandled, ONE_CURSOR, pageOf, pageRequest } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import { listEvents, type ReadEventTools, readOwnEvent } from '../use/read-event.ts';
import type { ViewStore } from '../use/view-store.ts';

export const eventsQuery = z
  .strictObject({
    type: z
      .enum(PUBLIC_EVENT_TYPES, `must be one of ${PUBLIC_EVENT_TYPES.join(', ')}`)
      .optional()
      .meta({ description: 'Only events of this type.' }),
    ...pageOf('events', EVENT_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR);

interface EventsTools extends ReadEventTools {
  readonly views: Pick<ViewStore, 'range'>;
}

/** The routes of the events API and of the reports about events. They only read. */
export const EVENT_ROUTES: readonly Route<EventsTools>[] = [
  { method: 'GET', path: '/v1/events', scope: Scopes.eventsRead, handle: list },
  { method: 'GET', path: '/v1/events/{id}', scope: Scopes.eventsRead, handle: show },
  {
    method: 'GET',
    path: '/v1/reports/volume',
    scope: Scopes.ledgerRead,
    role: 'viewer',
    // Loaded with the first request instead of the cold start.
    handle: async (call) => (await import('./volume-report.ts')).showVolumes(call),
  },
];

async function list({ tools, caller, request }: Call<EventsTools>): Promise<Handled> {
  const query = validateQuery(eventsQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { type, ...page } = query.value;
  const outcome = await listEvents(tools, caller, { ...defined({ type }), ...pageRequest(page) });
  return listHandled(outcome, 'events', request);
}

async function show({ tools, caller, request, id }: Call<EventsTools>): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const event = await readOwnEvent(tools, caller, id);
  // An event that is missing, not public, or of another tenant or mode gets the same answer.
  if (event === undefined) return refusal(problem('not_found', 'There is no such event.'), request);
  return found({ ...event.event });
}
