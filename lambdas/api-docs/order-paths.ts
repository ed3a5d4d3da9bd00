import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import type { ProblemCode } from '../http/problems.ts';
import { MAX_BODY_BYTES } from '../kernel/contract/limits.ts';
import { order } from '../orders/http/order-object.ts';
import { createOrderBody } from '../orders/http/order-schemas.ts';
import captured from './examples.json' with { type: 'json' };
import {
  ALWAYS,
  type Examples,
  idempotencyKey,
  OF_POST,
  preferenceApplied,
  preferWait,
  problemResponses,
  replayed,
  requestId,
  shown,
} from './responses.ts';

const OF_ORDERING: readonly ProblemCode[] = [
  ...ALWAYS,
  ...OF_POST,
  'payment_failed',
  'idempotency_key_in_progress',
  'order_not_attempted',
  'out_of_stock',
  'order_canceled',
  'processor_unavailable',
];

const made = (description: string, examples: Examples) => ({
  description,
  headers: z.object({
    'Request-Id': requestId,
    Location: z.string().meta({ description: 'Where the order is.' }),
    'Idempotency-Replayed': replayed,
    'Preference-Applied': preferenceApplied,
  }),
  content: { 'application/json': { schema: order, examples } },
});

/** Orders: a payment with what has to happen beside it. */
export const orderPaths: ZodOpenApiPathsObject = {
  '/v1/orders': {
    post: {
      operationId: 'createOrder',
      summary: 'Take an order',
      description:
        'Charges, reserves in the stock, sends a confirmation and credits who brought the customer, each once. What cannot be ' +
        'reserved is given back in full. Needs the scope `payments:write`.',
      requestParams: {
        header: z.object({
          'Idempotency-Key': idempotencyKey('order', 'nothing of it happens twice'),
          Prefer: preferWait,
        }),
      },
      requestBody: {
        required: true,
        description: `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8.`,
        content: { 'application/json': { schema: createOrderBody, examples: captured.operations.createOrder.request } },
      },
      responses: {
        201: made(
          'Paid and reserved. The confirmation and the credit may still be late.',
          captured.operations.createOrder[201],
        ),
        202: made(
          'Not settled yet: the charge or the reservation is not known, the payer must do something first, or the money is ' +
            'on its way back. GET shows what became of it.',
          captured.operations.createOrder[202],
        ),
        ...problemResponses(OF_ORDERING),
      },
    },
  },
  '/v1/orders/{id}': {
    get: {
      operationId: 'getOrder',
      summary: 'Show an order',
      description: 'As it stands now: what was answered before is there. Needs the scope `payments:read`.',
      requestParams: { path: z.object({ id: order.shape.id.meta({ description: 'Of the order.' }) }) },
      responses: { 200: shown('The order.', order, captured.operations.getOrder[200]), ...problemResponses(ALWAYS) },
    },
  },
};
