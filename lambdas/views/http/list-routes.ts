import * as z from 'zod';
import { EVENT_ID, PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { type Call, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { askedPage, hasOneCursor, listHandled, ONE_CURSOR, pageOf } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, freeText, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { PAYMENT_ID } from '../../kernel/ids.ts';
import { PAYMENT_STATUSES } from '../../payments/domain/payment.ts';
import { type ListPaymentsTools, listPayments } from '../use/list-payments.ts';
import { listEvents, type ReadEventTools, readOwnEvent } from '../use/read-event.ts';
import type { ViewStore } from '../use/view-store.ts';

/** Query schemas of the lists that are shown newest first. The API documents are generated from them. */

export const paymentsQuery = z
  .strictObject({
    status: z
      .enum(PAYMENT_STATUSES, `must be one of ${PAYMENT_STATUSES.join(', ')}`)
      .optional()
      .meta({ description: 'Only payments with this status.' }),
    reference: freeText(255, 1)
      .optional()
      .meta({ description: 'Only payments with this `reference`, including failed ones.' }),
    ...pageOf('payments', PAYMENT_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR);

export const eventsQuery = z
  .strictObject({
    type: z
      .enum(PUBLIC_EVENT_TYPES, `must be one of ${PUBLIC_EVENT_TYPES.join(', ')}`)
      .optional()
      .meta({ description: 'Only events of this type.' }),
    ...pageOf('events', EVENT_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR);

/** Exported alone, because it is part of the payments API. */
export const getPayments: Route<ListPaymentsTools> = {
  method: 'GET',
  path: '/v1/payments',
  scope: Scopes.paymentsRead,
  handle: async ({ tools, caller, request }) => {
    const query = validateQuery(paymentsQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { status, reference, ...page } = query.value;
    const outcome = await listPayments(tools, caller, {
      ...(status === undefined ? {} : { status }),
      ...(reference === undefined ? {} : { reference }),
      ...askedPage(page),
    });
    return listHandled(outcome, 'payments', request);
  },
};

interface EventsTools extends ReadEventTools {
  readonly views: Pick<ViewStore, 'range'>;
}

/** The routes of the events API. They only read. */
export const EVENT_ROUTES: readonly Route<EventsTools>[] = [
  { method: 'GET', path: '/v1/events', scope: Scopes.paymentsRead, handle: list },
  { method: 'GET', path: '/v1/events/{id}', scope: Scopes.paymentsRead, handle: show },
];

async function list({ tools, caller, request }: Call<EventsTools>): Promise<Handled> {
  const query = validateQuery(eventsQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { type, ...page } = query.value;
  const outcome = await listEvents(tools, caller, { ...(type === undefined ? {} : { type }), ...askedPage(page) });
  return listHandled(outcome, 'events', request);
}

async function show({ tools, caller, request, id }: Call<EventsTools>): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const event = await readOwnEvent(tools, caller, id);
  // The same answer for a missing event, an event of another tenant or mode, and an event that is not public.
  if (event === undefined) return refusal(problem('not_found', 'There is no such event.'), request);
  return found({ ...event.event });
}
