import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { Scopes } from '../kernel/contract/api.ts';
import { dispute, payment, refund } from '../payments/http/payment-objects.ts';
import { cancelBody, captureBody, refundBody } from '../payments/http/payment-schemas.ts';
import { disputesQuery } from '../views/http/payment-lists.ts';
import {
  cancellationOf,
  cancellationsOfPayment,
  captureOf,
  capturesOfPayment,
  disputesOfPayment,
  refundList,
} from './answer-schemas.ts';
import { disputeList, LAGS } from './list-schemas.ts';
import { keyed, reading } from './operations.ts';

const path = z.object({ id: payment.shape.id.meta({ description: 'The id of the payment.' }) });

const KEY_SCOPE = ' It can be used again for another payment, and for another kind of change of this one.';
const UNKNOWN = 'The outcome is not known yet, because the processor did not answer in time. GET returns it later.';

/** Changes of an existing payment. */
export const changePaths: ZodOpenApiPathsObject = {
  '/v1/payments/{id}/capture': {
    post: keyed({
      operationId: 'capturePayment',
      summary: 'Capture an authorized payment',
      description:
        'Captures the authorized amount or a part of it, once. The rest is released. Possible while the status is `requires_capture`.',
      scope: Scopes.paymentsWrite,
      path,
      key: ['capture', 'no amount is captured twice', KEY_SCOPE],
      body: { schema: captureBody, required: false },
      located: true,
      waits: true,
      answers: {
        200: { description: 'The amount was captured.', schema: payment },
        202: { description: UNKNOWN, schema: payment },
      },
      problems: [
        'capture_failed',
        'capture_not_attempted',
        'payment_not_capturable',
        'change_in_progress',
        'amount_exceeds_left',
      ],
    }),
  },
  '/v1/payments/{id}/cancel': {
    post: keyed({
      operationId: 'cancelPayment',
      summary: 'Cancel a payment',
      description:
        'Releases the authorization of a payment that requires capture, or ends a payment that waits for its payer. Afterwards its reference can be used again.',
      scope: Scopes.paymentsWrite,
      path,
      key: ['cancellation', 'the payment is canceled once', KEY_SCOPE],
      body: { schema: cancelBody, required: false },
      located: true,
      waits: true,
      answers: {
        200: { description: 'The payment was canceled.', schema: payment },
        202: { description: UNKNOWN, schema: payment },
      },
      problems: ['cancellation_failed', 'cancellation_not_attempted', 'payment_not_cancelable', 'change_in_progress'],
    }),
  },
  '/v1/payments/{id}/captures': {
    get: reading({
      operationId: 'listCaptures',
      summary: 'List the captures of a payment',
      description: 'Captures that were requested with this API, in the order of their recording.',
      scope: Scopes.paymentsRead,
      path,
      answers: { 200: { description: 'The captures.', schema: capturesOfPayment } },
    }),
  },
  '/v1/captures/{id}': {
    get: reading({
      operationId: 'getCapture',
      summary: 'Retrieve a capture',
      description: 'The current state.',
      scope: Scopes.paymentsRead,
      path: z.object({ id: captureOf.shape.id.meta({ description: 'The id of the capture.' }) }),
      answers: { 200: { description: 'The capture.', schema: captureOf } },
    }),
  },
  '/v1/payments/{id}/cancellations': {
    get: reading({
      operationId: 'listCancellations',
      summary: 'List the cancellations of a payment',
      description: 'Cancellations that were requested with this API or by Payonce, in the order of their recording.',
      scope: Scopes.paymentsRead,
      path,
      answers: { 200: { description: 'The cancellations.', schema: cancellationsOfPayment } },
    }),
  },
  '/v1/cancellations/{id}': {
    get: reading({
      operationId: 'getCancellation',
      summary: 'Retrieve a cancellation',
      description: 'The current state.',
      scope: Scopes.paymentsRead,
      path: z.object({ id: cancellationOf.shape.id.meta({ description: 'The id of the cancellation.' }) }),
      answers: { 200: { description: 'The cancellation.', schema: cancellationOf } },
    }),
  },
};

/** Refunds. */
export const refundPaths: ZodOpenApiPathsObject = {
  '/v1/payments/{id}/refunds': {
    post: keyed({
      operationId: 'createRefund',
      summary: 'Refund a payment',
      description:
        'Refunds the remaining amount or a part of it. A payment can have several refunds. Together they never exceed the captured ' +
        'amount: pending refunds and disputed amounts count as refunded.',
      scope: Scopes.paymentsWrite,
      path,
      key: ['refund', 'no amount is refunded twice', KEY_SCOPE],
      body: { schema: refundBody, required: false },
      located: true,
      waits: true,
      answers: {
        201: { description: 'The amount was refunded.', schema: refund },
        202: {
          description:
            'The refund is pending: the processor did not answer in time, or decides later. GET shows the outcome later.',
          schema: refund,
        },
      },
      problems: [
        'refund_failed',
        'refund_not_attempted',
        'payment_not_refundable',
        'too_many_refunds',
        'amount_exceeds_left',
      ],
    }),
    get: reading({
      operationId: 'listRefunds',
      summary: 'List the refunds of a payment',
      description:
        'All of them, in the order of their recording. They include refunds made at the processor, and returns of charges that the ' +
        'payment must not have.',
      scope: Scopes.paymentsRead,
      path,
      answers: { 200: { description: 'The refunds.', schema: refundList } },
    }),
  },
  '/v1/refunds/{id}': {
    get: reading({
      operationId: 'getRefund',
      summary: 'Retrieve a refund',
      description: 'The current state. The refund can have been created with this API or at the processor.',
      scope: Scopes.paymentsRead,
      path: z.object({ id: refund.shape.id.meta({ description: 'The id of the refund.' }) }),
      answers: { 200: { description: 'The refund.', schema: refund } },
    }),
  },
};

/** Disputes. */
export const disputePaths: ZodOpenApiPathsObject = {
  '/v1/payments/{id}/disputes': {
    get: reading({
      operationId: 'listDisputesOfPayment',
      summary: 'List the disputes of a payment',
      description: 'All of them, in the order of their recording.',
      scope: Scopes.paymentsRead,
      path,
      answers: { 200: { description: 'The disputes.', schema: disputesOfPayment } },
    }),
  },
  '/v1/disputes': {
    get: reading({
      operationId: 'listDisputes',
      summary: 'List disputes',
      description: `The disputes of all payments, newest first, each in its current state. ${LAGS}`,
      scope: Scopes.paymentsRead,
      role: 'viewer',
      query: disputesQuery,
      answers: { 200: { description: 'A page of disputes.', schema: disputeList } },
    }),
  },
  '/v1/disputes/{id}': {
    get: reading({
      operationId: 'getDispute',
      summary: 'Retrieve a dispute',
      description: 'The current state.',
      scope: Scopes.paymentsRead,
      path: z.object({ id: dispute.shape.id.meta({ description: 'The id of the dispute.' }) }),
      answers: { 200: { description: 'The dispute.', schema: dispute } },
    }),
  },
};
