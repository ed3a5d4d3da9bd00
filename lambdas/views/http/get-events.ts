import { found, type Handled, refusal } from '../../http/http-api.ts';
import { askedPage, listHandled } from '../../http/list-http.ts';
import { eventsQuery } from '../../http/list-schemas.ts';
import { problem } from '../../http/problems.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { emptyQuery } from '../../payments/http/payment-schemas.ts';
import { listEvents, readOwnEvent } from '../use/read-event.ts';
import type { Call, Route } from './route.ts';

export const getEvents: Route = { method: 'GET', path: '/v1/events', scope: Scopes.paymentsRead, handle: list };
export const getEvent: Route = { method: 'GET', path: '/v1/events/{id}', scope: Scopes.paymentsRead, handle: show };

async function list({ tools, caller, request }: Call): Promise<Handled> {
  const query = validateQuery(eventsQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { type, ...page } = query.value;
  const outcome = await listEvents(tools, caller, { ...(type === undefined ? {} : { type }), ...askedPage(page) });
  return listHandled(outcome, 'events', request);
}

async function show({ tools, caller, request, id }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const event = await readOwnEvent(tools, caller, id);
  // The same for one that does not exist, for another tenant's or mode's, and for one that is not for merchants.
  if (event === undefined) return refusal(problem('not_found', 'There is no such event.'), request);
  return found({ ...event.event });
}
