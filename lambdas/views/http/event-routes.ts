import * as z from 'zod';
import { EVENT_ID, PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { found, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading, type TenantEndpoint } from '../../http/endpoint.ts';
import { hasOneCursor, listResponse, ONE_CURSOR, pageOf, pageRequest } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import { listEvents, type ReadEventTools, readOwnEvent } from '../use/read-event.ts';
import type { ViewStore } from '../use/view-store.ts';
import { event, eventList, LAGS } from './list-answers.ts';
import { getVolumes } from './volume-report.ts';

const eventsQuery = z
  .strictObject({
    type: z
      .enum(PUBLIC_EVENT_TYPES, `must be one of ${PUBLIC_EVENT_TYPES.join(', ')}`)
      .optional()
      .meta({ description: 'Only events of this type.' }),
    ...pageOf('events', EVENT_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR);

export interface EventsTools extends ReadEventTools {
  readonly views: Pick<ViewStore, 'range'>;
}

const getEvents = reading({
  path: '/v1/events',
  scope: Scopes.eventsRead,
  query: eventsQuery,
  handle: async ({ tools, caller, request, query }: ReadingCall<EventsTools, typeof eventsQuery>) => {
    const { type, ...page } = query;
    const outcome = await listEvents(tools, caller, { ...defined({ type }), ...pageRequest(page) });
    return listResponse(outcome, 'events', request);
  },
  docs: {
    operationId: 'listEvents',
    tag: 'Events',
    summary: 'List events',
    description: `Newest first, in the form in which webhooks deliver them. ${LAGS}`,
    answers: { 200: { description: 'A page of events.', schema: eventList } },
  },
});

const getEvent = reading({
  path: '/v1/events/{id}',
  scope: Scopes.eventsRead,
  handle: async ({ tools, caller, request, id }: ReadingCall<EventsTools>) => {
    const own = await readOwnEvent(tools, caller, id);
    // The response is the same for an event that does not exist, is not public, or belongs to another tenant or mode.
    if (own === undefined) return refusal(problem('not_found', 'There is no such event.'), request);
    return found({ ...own.event });
  },
  docs: {
    operationId: 'getEvent',
    tag: 'Events',
    summary: 'Retrieve an event',
    description:
      'An event never changes. It can be retrieved as soon as the request that caused it has received its response.',
    path: z.object({ id: event.shape.id.meta({ description: 'The id of the event.' }) }),
    answers: { 200: { description: 'The event.', schema: event } },
  },
});

export const EVENT_ROUTES: readonly TenantEndpoint<EventsTools>[] = [getEvents, getEvent, getVolumes];
