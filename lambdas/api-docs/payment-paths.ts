import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { Scopes } from '../kernel/contract/api.ts';
import { REQUEST_STATUSES } from '../payments/http/get-payment-request.ts';
import { transitionPageQuery } from '../payments/http/list-transitions.ts';
import { createPaymentBody, payment } from '../payments/http/payment-objects.ts';
import { eventsQuery } from '../views/http/event-routes.ts';
import { paymentsQuery } from '../views/http/payment-lists.ts';
import { volumesQuery } from '../views/http/volume-report.ts';
import { transitionList } from './answer-schemas.ts';
import { chargeList, event, eventList, LAGS, paymentList, volumeList } from './list-schemas.ts';
import { keyed, NO_PROCESSOR, reading } from './operations.ts';

const path = z.object({ id: payment.shape.id.meta({ description: 'The id of the payment.' }) });

export const paymentRequest = z
  .looseObject({
    id: z.uuid(),
    object: z.literal('payment_request'),
    livemode: z.boolean(),
    status: z.enum(REQUEST_STATUSES).meta({
      description:
        '`completed`: it has an outcome, including a decline. `failed`: nothing was sent to the processor, and the next delivery retries.',
    }),
    changed: z.int().nullable().meta({
      description:
        'Time of the last change of the status, in Unix seconds. Null when its record has expired, after 7 days.',
    }),
    payment: payment.shape.id,
  })
  .meta({ id: 'PaymentRequest' });

/** Payments. */
export const paymentPaths: ZodOpenApiPathsObject = {
  '/v1/payments': {
    get: reading({
      operationId: 'listPayments',
      summary: 'List payments',
      description: `Newest first. A payment appears when its outcome is known, or is known to take time. ${LAGS}`,
      scope: Scopes.paymentsRead,
      role: 'operator',
      query: paymentsQuery,
      answers: { 200: { description: 'A page of payments.', schema: paymentList } },
      problems: ['processor_unavailable'],
    }),
    post: keyed({
      operationId: 'createPayment',
      summary: 'Create a payment',
      description: 'Charges or, when `capture` is `manual`, authorizes the amount at the processor.',
      scope: Scopes.paymentsWrite,
      key: ['payment', 'the payer is charged once'],
      body: { schema: createPaymentBody },
      located: true,
      waits: true,
      answers: {
        201: { description: 'The amount was captured, or authorized when `capture` is manual.', schema: payment },
        202: {
          description:
            'The outcome is not known yet: the processor did not answer in time, decides later, or requires an action of the payer ' +
            '(`next_action`). GET shows the outcome later.',
          schema: payment,
        },
      },
      problems: [
        'payment_failed',
        'payment_canceled',
        'reference_already_used',
        'payment_not_attempted',
        ...NO_PROCESSOR,
      ],
    }),
  },
  '/v1/payments/{id}': {
    get: reading({
      operationId: 'getPayment',
      summary: 'Retrieve a payment',
      description: 'The current state. It includes everything that was returned before.',
      scope: Scopes.paymentsRead,
      role: 'operator',
      path,
      answers: { 200: { description: 'The payment.', schema: payment } },
    }),
  },
  '/v1/payment_requests/{id}': {
    get: reading({
      operationId: 'getPaymentRequest',
      summary: 'Retrieve an event that requested a payment',
      description:
        'The status of a `payment.requested.v1` of this tenant and mode. An event that has not begun a payment is not found: it has not arrived, waits, or is parked.',
      scope: Scopes.paymentsRead,
      path: z.object({
        id: z.uuid().meta({
          description: 'The `event_id` that the sender of the event chose.',
          example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
        }),
      }),
      answers: { 200: { description: 'The request.', schema: paymentRequest } },
    }),
  },
  '/v1/payments/{id}/charges': {
    get: reading({
      operationId: 'listCharges',
      summary: 'List the charges of a payment at the processor',
      description:
        'The current books of the payment’s processor, which may be ahead of the Ledger. It changes nothing. ' +
        'These reads have a separate limit, a tenth of the limit of other reads.',
      scope: Scopes.paymentsRead,
      role: 'operator',
      path,
      answers: { 200: { description: 'The charges.', schema: chargeList } },
      problems: ['processor_unavailable'],
    }),
  },
  '/v1/payments/{id}/transitions': {
    get: reading({
      operationId: 'listTransitions',
      summary: 'List the transitions of a payment',
      description: 'With their postings, oldest first.',
      scope: Scopes.paymentsRead,
      path,
      query: transitionPageQuery,
      answers: { 200: { description: 'A page of transitions.', schema: transitionList } },
    }),
  },
};

/** Events. */
export const eventPaths: ZodOpenApiPathsObject = {
  '/v1/events': {
    get: reading({
      operationId: 'listEvents',
      summary: 'List events',
      description: `Newest first, in the form in which webhooks deliver them. ${LAGS}`,
      scope: Scopes.eventsRead,
      query: eventsQuery,
      answers: { 200: { description: 'A page of events.', schema: eventList } },
    }),
  },
  '/v1/events/{id}': {
    get: reading({
      operationId: 'getEvent',
      summary: 'Retrieve an event',
      description: 'An event never changes. It is available as soon as the change that it reports has been answered.',
      scope: Scopes.eventsRead,
      path: z.object({ id: event.shape.id.meta({ description: 'The id of the event.' }) }),
      answers: { 200: { description: 'The event.', schema: event } },
    }),
  },
};

export const reportPaths: ZodOpenApiPathsObject = {
  '/v1/reports/volume': {
    get: reading({
      operationId: 'getVolumes',
      summary: 'Report counts and amounts by day',
      description:
        'The number of events of each type on each day in each currency, and the sum of their amounts: the captured amount for ' +
        '`payment.completed`, otherwise the amount of the payment, order, refund or dispute. A payment of an order is counted under its ' +
        'own events, too, so do not add outcomes of orders to outcomes of payments. The report is derived from events and lags by about a second.',
      scope: Scopes.ledgerRead,
      role: 'viewer',
      query: volumesQuery,
      answers: { 200: { description: 'The volumes.', schema: volumeList } },
      problems: ['balance_too_large'],
    }),
  },
};
