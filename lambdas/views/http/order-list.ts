import * as z from 'zod';
import { type Route, refusal } from '../../http/authenticated-api.ts';
import { hasOneCursor, listHandled, ONE_CURSOR, pageOf, pageRequest } from '../../http/lists.ts';
import { emailFilter } from '../../http/range-filters.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import { ORDER_STATUSES } from '../../orders/domain/order.ts';
import { ORDER_ID } from '../../orders/ids.ts';
import { type ListOrdersTools, listOrders } from '../use/list-orders.ts';

export const ordersQuery = z
  .strictObject({
    status: z
      .enum(ORDER_STATUSES, `must be one of ${ORDER_STATUSES.join(', ')}`)
      .optional()
      .meta({ description: 'Only orders with this status.' }),
    email: emailFilter('orders with this address'),
    ...pageOf('orders', ORDER_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR);

/** The route that lists orders. Read-only. */
export const getOrders: Route<ListOrdersTools> = {
  method: 'GET',
  path: '/v1/orders',
  scope: Scopes.paymentsRead,
  handle: async ({ tools, caller, request }) => {
    const query = validateQuery(ordersQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { status, email, ...page } = query.value;
    const filters = { ...defined({ status, email }) };
    const asked = { ...filters, ...pageRequest(page) };
    return listHandled(await listOrders(tools, caller, asked), 'orders', request);
  },
};
