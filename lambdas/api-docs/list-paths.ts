import * as z from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import { eventsQuery, paymentsQuery } from '../views/http/list-routes.ts';
import captured from './examples.json' with { type: 'json' };
import { event, eventList, paymentList } from './list-schemas.ts';
import { ALWAYS, problemResponses, shown } from './responses.ts';

const LAGS = 'Made from events, so it lags by a second or so; what is read by its id does not.';

export const listPayments: ZodOpenApiOperationObject = {
  operationId: 'listPayments',
  summary: 'List payments',
  description:
    'Newest first, each as it is shown by its id. A payment appears when its outcome is known, or is known to take time. ' +
    `${LAGS} Needs the scope \`payments:read\`.`,
  requestParams: { query: paymentsQuery },
  responses: {
    200: shown('A page of payments.', paymentList, captured.operations.listPayments[200]),
    ...problemResponses([...ALWAYS, 'invalid_request']),
  },
};

/** The events' part of the API's description. */
export const eventPaths: ZodOpenApiPathsObject = {
  '/v1/events': {
    get: {
      operationId: 'listEvents',
      summary: 'List events',
      description: `What happened, newest first, as webhooks bring it. ${LAGS} Needs the scope \`payments:read\`.`,
      requestParams: { query: eventsQuery },
      responses: {
        200: shown('A page of events.', eventList, captured.operations.listEvents[200]),
        ...problemResponses([...ALWAYS, 'invalid_request']),
      },
    },
  },
  '/v1/events/{id}': {
    get: {
      operationId: 'getEvent',
      summary: 'Show an event',
      description:
        'The same for ever, and there as soon as what it tells of has been answered. Needs the scope `payments:read`.',
      requestParams: { path: z.object({ id: event.shape.id.meta({ description: 'Of the event.' }) }) },
      responses: { 200: shown('The event.', event, captured.operations.getEvent[200]), ...problemResponses(ALWAYS) },
    },
  },
};
