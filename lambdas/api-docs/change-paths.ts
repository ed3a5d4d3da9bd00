import * as z from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiPathsObject } from 'zod-openapi';
import type { ProblemCode } from '../http/problems.ts';
import { MAX_BODY_BYTES } from '../kernel/contract/limits.ts';
import { dispute, payment, refund } from '../payments/http/payment-objects.ts';
import { cancelBody, captureBody, refundBody } from '../payments/http/payment-schemas.ts';
import { disputesOfPayment, refundList } from './answer-schemas.ts';
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

const paymentParameter = z.object({ id: payment.shape.id.meta({ description: 'Of the payment.' }) });

const OF_CHANGING: readonly ProblemCode[] = [
  ...ALWAYS,
  ...OF_POST,
  'idempotency_key_in_progress',
  'processor_unavailable',
];

const UNKNOWN = 'the processor did not answer in time. It is found out without you';

/** What one kind of change is called, takes and answers. */
interface Change {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  /** What a key names, and what does not happen when it is sent again. */
  readonly key: readonly [thing: string, promise: string];
  readonly body: { readonly schema: z.ZodType; readonly examples: Examples };
  readonly responses: ZodOpenApiOperationObject['responses'];
  readonly problems: readonly ProblemCode[];
}

function post({ operationId, summary, description, key, body, responses, problems }: Change) {
  return {
    operationId,
    summary,
    description: `${description} Needs the scope \`payments:write\`.`,
    requestParams: {
      path: paymentParameter,
      header: z.object({
        'Idempotency-Key': idempotencyKey(
          ...key,
          ' It may be used again for another payment, and for another kind of change of this one.',
        ),
        Prefer: preferWait,
      }),
    },
    requestBody: {
      required: false,
      description: `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8; none at all is an empty object.`,
      content: { 'application/json': body },
    },
    responses: { ...responses, ...problemResponses([...OF_CHANGING, ...problems]) },
  };
}

const changed = (description: string, what: string, schema: z.ZodType, examples: Examples) => ({
  description,
  headers: z.object({
    'Request-Id': requestId,
    Location: z.string().meta({ description: `Where the ${what} is.` }),
    'Idempotency-Replayed': replayed,
    'Preference-Applied': preferenceApplied,
  }),
  content: { 'application/json': { schema, examples } },
});

const capture = post({
  operationId: 'capturePayment',
  summary: 'Take what was set aside',
  description: 'Once, all or a part; what is not taken is let go. Only of a payment that requires capture.',
  key: ['capture', 'nothing is taken twice'],
  body: { schema: captureBody, examples: captured.operations.capturePayment.request },
  responses: {
    200: changed('The money was taken.', 'payment', payment, captured.operations.capturePayment[200]),
    202: changed(
      `Not known yet: ${UNKNOWN}; GET shows it.`,
      'payment',
      payment,
      captured.operations.capturePayment[202],
    ),
  },
  problems: [
    'capture_failed',
    'capture_not_attempted',
    'payment_not_capturable',
    'change_in_progress',
    'amount_exceeds_left',
  ],
});

const cancel = post({
  operationId: 'cancelPayment',
  summary: 'Let go what was set aside',
  description: 'Of a payment that waits for its capture, or for its payer. Its reference is free afterwards.',
  key: ['cancellation', 'it happens once'],
  body: { schema: cancelBody, examples: captured.operations.cancelPayment.request },
  responses: {
    200: changed('The money was let go.', 'payment', payment, captured.operations.cancelPayment[200]),
    202: changed(
      `Not known yet: ${UNKNOWN}; GET shows it.`,
      'payment',
      payment,
      captured.operations.cancelPayment[202],
    ),
  },
  problems: ['cancellation_failed', 'cancellation_not_attempted', 'payment_not_cancelable', 'change_in_progress'],
});

const giveBack = post({
  operationId: 'createRefund',
  summary: 'Give money back',
  description:
    'All that is left, or a part, as often as something is left. What is about to be given back counts as given, and so ' +
    'does what the payer’s bank has taken back: all refunds together never exceed what was taken.',
  key: ['refund', 'nobody is paid twice'],
  body: { schema: refundBody, examples: captured.operations.createRefund.request },
  responses: {
    201: changed('The money was given back.', 'refund', refund, captured.operations.createRefund[201]),
    202: changed(
      `Not settled yet: the processor says later, or ${UNKNOWN}; GET shows it.`,
      'refund',
      refund,
      captured.operations.createRefund[202],
    ),
  },
  problems: [
    'refund_failed',
    'refund_not_attempted',
    'payment_not_refundable',
    'too_many_refunds',
    'amount_exceeds_left',
  ],
});

/** What may be done with a payment once it is there. */
export const changePaths: ZodOpenApiPathsObject = {
  '/v1/payments/{id}/capture': { post: capture },
  '/v1/payments/{id}/cancel': { post: cancel },
  '/v1/payments/{id}/refunds': {
    post: giveBack,
    get: {
      operationId: 'listRefunds',
      summary: 'List what was given back of a payment',
      description:
        'All of its refunds, in the order in which they became known; those that were made at the processor, and returns of ' +
        'charges that the payment must not have, too. Needs the scope `payments:read`.',
      requestParams: { path: paymentParameter },
      responses: {
        200: shown('The refunds.', refundList, captured.operations.listRefunds[200]),
        ...problemResponses(ALWAYS),
      },
    },
  },
  '/v1/refunds/{id}': {
    get: {
      operationId: 'getRefund',
      summary: 'Show a refund',
      description: 'As it stands now, whoever made it. Needs the scope `payments:read`.',
      requestParams: { path: z.object({ id: refund.shape.id.meta({ description: 'Of the refund.' }) }) },
      responses: { 200: shown('The refund.', refund, captured.operations.getRefund[200]), ...problemResponses(ALWAYS) },
    },
  },
  '/v1/payments/{id}/disputes': {
    get: {
      operationId: 'listDisputesOfPayment',
      summary: 'List the disputes of a payment',
      description: 'All of its disputes, in the order in which they became known. Needs the scope `payments:read`.',
      requestParams: { path: paymentParameter },
      responses: {
        200: shown('The disputes.', disputesOfPayment, captured.operations.listDisputesOfPayment[200]),
        ...problemResponses(ALWAYS),
      },
    },
  },
  '/v1/disputes/{id}': {
    get: {
      operationId: 'getDispute',
      summary: 'Show a dispute',
      description: 'As it stands now. Needs the scope `payments:read`.',
      requestParams: { path: z.object({ id: dispute.shape.id.meta({ description: 'Of the dispute.' }) }) },
      responses: {
        200: shown('The dispute.', dispute, captured.operations.getDispute[200]),
        ...problemResponses(ALWAYS),
      },
    },
  },
};
