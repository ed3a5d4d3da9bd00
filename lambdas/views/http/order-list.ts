import * as z from 'zod';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { hasOneCursor, listResponse, ONE_CURSOR, pageOf, pageRequest } from '../../http/lists.ts';
import { emailFilter } from '../../http/range-filters.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import { ORDER_STATUSES } from '../../orders/domain/order.ts';
import { ORDER_ID } from '../../orders/ids.ts';
import { type ListOrdersTools, listOrders } from '../use/list-orders.ts';
import { LAGS, orderList } from './list-answers.ts';

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

export const getOrders = reading({
  path: '/v1/orders',
  scope: Scopes.paymentsRead,
  query: ordersQuery,
  handle: async ({ tools, caller, request, query }: ReadingCall<ListOrdersTools, typeof ordersQuery>) => {
    const { status, email, ...page } = query;
    const asked = { ...defined({ status, email }), ...pageRequest(page) };
    return listResponse(await listOrders(tools, caller, asked), 'orders', request);
  },
  docs: {
    operationId: 'listOrders',
    tag: 'Orders',
    summary: 'List orders',
    description: `Newest first, each in its current state. ${LAGS}`,
    answers: { 200: { description: 'A page of orders.', schema: orderList } },
  },
});
