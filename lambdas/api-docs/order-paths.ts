import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { Scopes } from '../kernel/contract/api.ts';
import { order } from '../orders/http/order-object.ts';
import { createOrderBody } from '../orders/http/order-schemas.ts';
import { ordersQuery } from '../views/http/order-list.ts';
import { LAGS, orderList } from './list-schemas.ts';
import { keyed, NO_PROCESSOR, reading } from './operations.ts';

/** Orders: payments with the steps around them. */
export const orderPaths: ZodOpenApiPathsObject = {
  '/v1/orders': {
    get: reading({
      operationId: 'listOrders',
      summary: 'List orders',
      description: `Newest first, each in its current state. ${LAGS}`,
      scope: Scopes.paymentsRead,
      query: ordersQuery,
      answers: { 200: { description: 'A page of orders.', schema: orderList } },
    }),
    post: keyed({
      operationId: 'createOrder',
      summary: 'Create an order',
      description:
        'Charges the amount, reserves the items, sends a confirmation and credits the referrer, each once. If the items cannot be reserved, the charge is refunded in full.',
      scope: Scopes.paymentsWrite,
      key: ['order', 'no step happens twice'],
      body: { schema: createOrderBody },
      located: true,
      waits: true,
      answers: {
        201: {
          description: 'Charged and reserved. The confirmation and the credit can follow later.',
          schema: order,
        },
        202: {
          description:
            'The outcome is not known yet: the charge or the reservation is unknown, the payer must act, or a refund is in progress. ' +
            'GET shows the outcome later.',
          schema: order,
        },
      },
      problems: [
        'payment_failed',
        'order_not_attempted',
        'out_of_stock',
        'order_canceled',
        'testmode_not_available',
        ...NO_PROCESSOR,
      ],
    }),
  },
  '/v1/orders/{id}': {
    get: reading({
      operationId: 'getOrder',
      summary: 'Retrieve an order',
      description: 'The current state. It includes everything that was returned before.',
      scope: Scopes.paymentsRead,
      path: z.object({ id: order.shape.id.meta({ description: 'The id of the order.' }) }),
      answers: { 200: { description: 'The order.', schema: order } },
    }),
  },
};
