import * as z from 'zod';
import { createDocument } from 'zod-openapi';
import type { ProblemCode } from '../http/problems.ts';
import { MAX_BODY_BYTES } from '../kernel/contract/limits.ts';
import { createPaymentBody, payment } from '../payments/http/payment-objects.ts';
import { transitionPageQuery } from '../payments/http/payment-schemas.ts';
import { transitionList } from './answer-schemas.ts';
import { callbackPath } from './callback-path.ts';
import { changePaths } from './change-paths.ts';
import captured from './examples.json' with { type: 'json' };
import { jobPaths } from './job-paths.ts';
import { ledgerPaths } from './ledger-paths.ts';
import { eventPaths, listPayments } from './list-paths.ts';
import { orderPaths } from './order-paths.ts';
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
import { webhookPaths } from './webhook-paths.ts';

const OF_PAYING: readonly ProblemCode[] = [
  ...OF_POST,
  'payment_failed',
  'payment_canceled',
  'idempotency_key_in_progress',
  'reference_already_used',
  'payment_not_attempted',
  'processor_unavailable',
];

const creationHeaders = z.object({
  'Request-Id': requestId,
  Location: z.string().meta({ description: 'Where the payment is.' }),
  'Idempotency-Replayed': replayed,
  'Preference-Applied': preferenceApplied,
});

const keyHeaders = z.object({
  'Idempotency-Key': idempotencyKey('payment', 'nobody is charged twice'),
  Prefer: preferWait,
});

const idParameter = z.object({ id: payment.shape.id.meta({ description: 'Of the payment.' }) });

const made = (description: string, examples: Examples) => ({
  description,
  headers: creationHeaders,
  content: { 'application/json': { schema: payment, examples } },
});

/** The API's description (OpenAPI 3.1), made from the schemas that check the requests. */
export const openApiDocument = createDocument({
  openapi: '3.1.1',
  info: {
    title: 'Payonce',
    version: '1',
    description:
      'Payments that take effect exactly once. Amounts are integers in minor units; times are Unix seconds; errors are ' +
      'problem details (RFC 9457) with a stable `code`. Clients must pass over fields that they do not know.',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
  },
  // Relative to this document's own address, so that it holds under every host and stage.
  servers: [{ url: '..' }],
  security: [{ apiKey: [] }],
  components: {
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'bearer', description: '`sk_test_…`; a revoked key may work for 10 s more.' },
    },
  },
  paths: {
    '/v1/payments': {
      get: listPayments,
      post: {
        operationId: 'createPayment',
        summary: 'Take a payment',
        description: 'Needs the scope `payments:write`.',
        requestParams: { header: keyHeaders },
        requestBody: {
          required: true,
          description: `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8.`,
          content: {
            'application/json': { schema: createPaymentBody, examples: captured.operations.createPayment.request },
          },
        },
        responses: {
          201: made(
            'The money was taken, or reserved when `capture` is manual.',
            captured.operations.createPayment[201],
          ),
          202: made(
            'Not settled yet: the processor did not answer in time or says later, or the payer must do something first ' +
              '(`next_action`). GET shows what became of it.',
            captured.operations.createPayment[202],
          ),
          ...problemResponses([...ALWAYS, ...OF_PAYING]),
        },
      },
    },
    '/v1/payments/{id}': {
      get: {
        operationId: 'getPayment',
        summary: 'Show a payment',
        description: 'As it stands now: what was answered before is there. Needs the scope `payments:read`.',
        requestParams: { path: idParameter },
        responses: {
          200: shown('The payment.', payment, captured.operations.getPayment[200]),
          ...problemResponses(ALWAYS),
        },
      },
    },
    '/v1/payments/{id}/transitions': {
      get: {
        operationId: 'listTransitions',
        summary: 'List what happened to a payment',
        description: 'Its transitions with their postings, oldest first. Needs the scope `payments:read`.',
        requestParams: { path: idParameter, query: transitionPageQuery },
        responses: {
          200: shown('A page of transitions.', transitionList, captured.operations.listTransitions[200]),
          ...problemResponses([...ALWAYS, 'invalid_request']),
        },
      },
    },
    ...changePaths,
    ...orderPaths,
    ...eventPaths,
    ...ledgerPaths,
    ...jobPaths,
    ...webhookPaths,
    ...callbackPath,
  },
});
