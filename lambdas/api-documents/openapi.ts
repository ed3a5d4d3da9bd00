import * as z from 'zod';
import { createDocument } from 'zod-openapi';
import { MAX_BODY_BYTES } from '../contract/limits.ts';
import { createPaymentBody, transitionPageQuery } from '../runtime/payment-schemas.ts';
import { PROBLEMS, type ProblemCode } from '../runtime/problems.ts';
import { payment, problem, transitionList } from './answer-schemas.ts';
import {
  creationExamples,
  paymentExamples,
  problemExample,
  transitionExamples,
  unknownOutcomeExamples,
} from './examples.ts';

/** Problems that every route may answer with. */
const ALWAYS: readonly ProblemCode[] = [
  'unknown_parameter',
  'unauthorized',
  'insufficient_scope',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'rate_limited',
  'internal_error',
  'temporarily_unavailable',
  'timeout',
];

const OF_POST: readonly ProblemCode[] = [
  'missing_idempotency_key',
  'invalid_idempotency_key',
  'body_too_large',
  'unsupported_media_type',
  'invalid_json',
  'card_number_not_allowed',
  'secret_not_allowed',
  'unknown_field',
  'invalid_request',
  'payment_failed',
  'idempotency_key_in_progress',
  'idempotency_key_expired',
  'reference_already_used',
  'payment_not_attempted',
  'idempotency_key_payload_mismatch',
  'processor_unavailable',
];

const requestId = z.string().meta({ description: 'Names this request in the logs of the service.' });
const alwaysSent = z.object({ 'Request-Id': requestId });

const replayed = z
  .literal('true')
  .optional()
  .meta({ description: 'This is the answer that was stored when the key was first used.' });

const retryAfter = z.string().optional().meta({ description: 'When to ask again, in seconds.', example: '1' });

/** Headers that problems of a status may carry. */
const PROBLEM_HEADERS: Readonly<Record<number, z.ZodRawShape>> = {
  401: { 'WWW-Authenticate': z.string().optional() },
  402: { 'Idempotency-Replayed': replayed },
  405: { Allow: z.string().optional() },
  409: { 'Retry-After': retryAfter, 'Idempotency-Replayed': replayed },
  429: { 'Retry-After': retryAfter },
  503: { 'Retry-After': retryAfter },
};

const creationHeaders = z.object({
  'Request-Id': requestId,
  Location: z.string().meta({ description: 'Where the payment is.' }),
  'Idempotency-Replayed': replayed,
  'Preference-Applied': z.string().optional().meta({ example: 'wait=8' }),
});

const keyHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .min(1)
    .max(128)
    .meta({
      description:
        'Names this payment, for ever: a request that is sent again with the same key and body gets the same answer, and ' +
        'nobody is charged twice. 1 to 128 visible ASCII characters, raw or as a quoted string; a UUID is good.',
      example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
    }),
  Prefer: z.string().optional().meta({
    description:
      '`wait=N`: while a request with this key is running elsewhere, wait for its answer, at most 8 seconds.',
    example: 'wait=8',
  }),
});

const idParameter = z.object({ id: payment.shape.id.meta({ description: 'Of the payment.' }) });

type Examples = Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;

const shown = (description: string, schema: z.ZodType, examples: Examples) => ({
  description,
  headers: alwaysSent,
  content: { 'application/json': { schema, examples } },
});

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
      post: {
        operationId: 'createPayment',
        summary: 'Take a payment',
        description: 'Needs the scope `payments:write`.',
        requestParams: { header: keyHeaders },
        requestBody: {
          required: true,
          description: `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8.`,
          content: { 'application/json': { schema: createPaymentBody, examples: creationExamples } },
        },
        responses: {
          201: made('The money was taken, or reserved when `capture` is manual.', paymentExamples),
          202: made(
            'Not known yet: the processor was asked and did not answer in time. GET shows what became of it.',
            unknownOutcomeExamples,
          ),
          ...problemResponses([...ALWAYS, ...OF_POST]),
        },
      },
    },
    '/v1/payments/{id}': {
      get: {
        operationId: 'getPayment',
        summary: 'Show a payment',
        description: 'As it stands now: what was answered before is there. Needs the scope `payments:read`.',
        requestParams: { path: idParameter },
        responses: { 200: shown('The payment.', payment, paymentExamples), ...problemResponses(ALWAYS) },
      },
    },
    '/v1/payments/{id}/transitions': {
      get: {
        operationId: 'listTransitions',
        summary: 'List what happened to a payment',
        description: 'Its transitions with their postings, oldest first. Needs the scope `payments:read`.',
        requestParams: { path: idParameter, query: transitionPageQuery },
        responses: {
          200: shown('A page of transitions.', transitionList, transitionExamples),
          ...problemResponses([...ALWAYS, 'invalid_request']),
        },
      },
    },
  },
});

type StatusCode = `${4 | 5}${string}`;

/** One response for each status, which lists its codes and what they mean. */
function problemResponses(codes: readonly ProblemCode[]) {
  const statuses = [...new Set(codes.map((code) => PROBLEMS[code].status))].sort((left, right) => left - right);
  return Object.fromEntries(
    statuses.map((status) => {
      const answered = codes.filter((code) => PROBLEMS[code].status === status);
      const described = answered.map((code) => `- \`${code}\`: ${PROBLEMS[code].meaning}`);
      const examples = Object.fromEntries(answered.map((code) => [code, problemExample(code)]));
      const content = { 'application/problem+json': { schema: problem, examples } };
      const headers = z.object({ 'Request-Id': requestId, ...PROBLEM_HEADERS[status] });
      return [String(status) as StatusCode, { description: described.join('\n'), headers, content }];
    }),
  );
}
