import * as z from 'zod';
import { EVENT_ID, PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { type Call, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { askedPage, hasOneCursor, listHandled, ONE_CURSOR, pageOf } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, freeText, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { DISPUTE_ID, ORDER_ID, PAYMENT_ID } from '../../kernel/ids.ts';
import { ORDER_STATUSES } from '../../orders/domain/order.ts';
import { DISPUTE_STATUSES, PAYMENT_STATUSES } from '../../payments/domain/payment.ts';
import { type ListDisputesTools, listDisputes } from '../use/list-disputes.ts';
import { type ListOrdersTools, listOrders } from '../use/list-orders.ts';
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

export const ordersQuery = z
  .strictObject({
    status: z
      .enum(ORDER_STATUSES, `must be one of ${ORDER_STATUSES.join(', ')}`)
      .optional()
      .meta({ description: 'Only orders with this status.' }),
    ...pageOf('orders', ORDER_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR);

export const disputesQuery = z
  .strictObject({
    status: z
      .enum(DISPUTE_STATUSES, `must be one of ${DISPUTE_STATUSES.join(', ')}`)
      .optional()
      .meta({ description: 'Only disputes with this status.' }),
    ...pageOf('disputes', DISPUTE_ID),
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

const getPayments: Route<ListPaymentsTools> = {
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

const getDisputes: Route<ListDisputesTools> = {
  method: 'GET',
  path: '/v1/disputes',
  scope: Scopes.paymentsRead,
  handle: async ({ tools, caller, request }) => {
    const query = validateQuery(disputesQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { status, ...page } = query.value;
    const asked = { ...(status === undefined ? {} : { status }), ...askedPage(page) };
    return listHandled(await listDisputes(tools, caller, asked), 'disputes', request);
  },
};

/** The lists of the payments API. They only read. */
export const PAYMENT_LIST_ROUTES: readonly Route<ListPaymentsTools>[] = [getPayments, getDisputes];

/** The list of the orders API. It only reads. */
export const getOrders: Route<ListOrdersTools> = {
  method: 'GET',
  path: '/v1/orders',
  scope: Scopes.paymentsRead,
  handle: async ({ tools, caller, request }) => {
    const query = validateQuery(ordersQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { status, ...page } = query.value;
    const asked = { ...(status === undefined ? {} : { status }), ...askedPage(page) };
    return listHandled(await listOrders(tools, caller, asked), 'orders', request);
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
