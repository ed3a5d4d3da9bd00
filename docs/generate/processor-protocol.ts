import * as z from 'zod';
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import { numberFormats } from '../../lambdas/api-docs/number-formats.ts';
import { errorAnswer } from '../../lambdas/processors/sandbox/sandbox-answers.ts';
import { EVENT_TYPES, SIGNATURE_HEADER } from '../../lambdas/processors/sandbox/sandbox-api.ts';
import { chargeAnswer, listAnswer, refundAnswer } from '../../lambdas/processors/sandbox/sandbox-charge.ts';
import { amountBody, createChargeBody, emptyBody, idempotencyKey, refundBody } from '../../sandbox/request-bodies.ts';

const json = (description: string, schema: z.ZodType) => ({
  description,
  content: { 'application/json': { schema } },
});
const failure = (description: string) => json(description, errorAnswer);
const key = z.object({ 'idempotency-key': idempotencyKey });
const id = z.object({ id: z.string() });
const seconds = z.string().regex(/^\d{1,12}$/);

const REFUSED = failure('The request is refused and has no effect, and its key remains unused.');
const OTHER_BODY = failure('`idempotency_key_mismatch`: the key was used with another body.');
const BUSY = failure('`busy`: the request had no effect.');
const UNSIGNED = { description: 'The signature is not valid. The request had no effect.' };
const UNKNOWN = failure('`not_found`');
const COMMON = { 401: UNSIGNED, 409: BUSY };

const change = (summary: string, schema: z.ZodType, status: 200 | 201, answer: z.ZodType) => ({
  post: {
    summary,
    requestParams: { header: key, path: id },
    requestBody: { required: false, ...json('', schema) },
    responses: {
      [status]: json('The change was made, by this call or an earlier call with the key.', answer),
      400: REFUSED,
      404: UNKNOWN,
      422: OTHER_BODY,
      ...COMMON,
    },
  },
});

const callback = z.object({
  id: z.string().meta({ description: 'The event id, the same for every delivery of the event.' }),
  object: z.literal('event'),
  type: z.enum(EVENT_TYPES),
  livemode: z.boolean(),
  created: z.int(),
  data: z.object({
    charge: z.string(),
    payment: z.string().nullable().meta({ description: 'The `metadata.payment` of the charge.' }),
    refund: z.string().optional(),
    dispute: z.string().optional(),
  }),
});

const PATHS: ZodOpenApiPathsObject = {
  '/health': { get: { summary: 'Health check', responses: { 200: { description: 'The processor is available.' } } } },
  '/charges': {
    post: {
      summary: 'Create a charge, once for each key',
      requestParams: { header: key },
      requestBody: { required: true, ...json('', createChargeBody) },
      responses: {
        201: json('The charge, created by this call or an earlier call with the key.', chargeAnswer),
        400: REFUSED,
        402: failure('Declined, with the id of the declined charge if there is one.'),
        422: OTHER_BODY,
        ...COMMON,
      },
    },
    get: {
      summary: 'Find charges by the key, by `metadata.payment`, or by a time range of at most 31 days',
      requestParams: {
        query: z.object({
          key: idempotencyKey.optional(),
          payment: z.string().optional(),
          created_from: seconds.optional().describe('Start of the time range, in Unix seconds; inclusive.'),
          created_to: seconds.optional().describe('End of the time range, in Unix seconds; exclusive.'),
          cursor: z.string().optional(),
        }),
      },
      responses: {
        200: json('The charges, oldest first. `next` is the cursor of the next page of a time range.', listAnswer),
        401: UNSIGNED,
      },
    },
  },
  '/charges/{id}': {
    get: {
      summary: 'Read a charge',
      requestParams: { path: id },
      responses: { 200: json('The current state of the charge.', chargeAnswer), 401: UNSIGNED, 404: UNKNOWN },
    },
  },
  '/charges/{id}/capture': change(
    'Capture an authorized charge, in part if an amount is given',
    amountBody,
    200,
    chargeAnswer,
  ),
  '/charges/{id}/void': change('Void an authorized charge', emptyBody, 200, chargeAnswer),
  '/charges/{id}/refunds': change('Refund a charge, in part if an amount is given', refundBody, 201, refundAnswer),
};

const CALLBACKS: ZodOpenApiPathsObject = {
  change: {
    post: {
      summary: 'Report each change of a charge, a refund or a dispute, and retry until the response is 2xx',
      description:
        'Posted to `/callbacks/external/live`, or `/callbacks/external/test`. Payonce then reads the charge, which is authoritative.',
      requestParams: {
        header: z.object({
          [SIGNATURE_HEADER]: z.string().meta({
            description:
              '`t=<Unix seconds>,v1=<lower-case hexadecimal HMAC-SHA256 of "<t>.<raw body>" under the secret>`',
          }),
        }),
      },
      requestBody: { required: true, ...json('', callback) },
      responses: {
        200: { description: 'The callback is stored.' },
        401: { description: 'The signature is not valid.' },
      },
    },
  },
};

/** The schemas are those with which Payonce parses responses. */
export function processorProtocol(): string {
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Your own processor',
        version: '1',
        description:
          'The calls that Payonce makes to the address in `processorUrl`, and the callbacks that it accepts. Amounts are integers in minor units; times are Unix seconds. ' +
          'Payonce ignores fields that it does not know. `payonce conform` checks a processor.',
      },
      components: {
        schemas: { Charge: chargeAnswer, ChargeList: listAnswer, Refund: refundAnswer, Failure: errorAnswer },
        securitySchemes: {
          signature: {
            type: 'apiKey',
            in: 'header',
            name: 'webhook-signature',
            description:
              'Standard Webhooks 1.0.0 over the raw body, which is empty for a GET, with the secret `ProcessorSigningKey`.',
          },
        },
      },
      security: [{ signature: [] }],
      paths: PATHS,
      webhooks: CALLBACKS,
    },
    { override: numberFormats },
  );
  return `${JSON.stringify(document, null, 2)}\n`;
}
