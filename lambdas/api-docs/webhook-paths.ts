import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import type { ProblemCode } from '../http/problems.ts';
import { MAX_BODY_BYTES } from '../kernel/contract/limits.ts';
import {
  createEndpointBody,
  deliveriesQuery,
  replayBody,
  rotateSecretBody,
  updateEndpointBody,
} from '../webhooks/http/webhook-schemas.ts';
import captured from './examples.json' with { type: 'json' };
import {
  ALWAYS,
  type Examples,
  idempotencyKey,
  OF_POST,
  problemResponses,
  replayed,
  requestId,
  shown,
} from './responses.ts';
import {
  deletedEndpoint,
  webhookDelivery,
  webhookDeliveryList,
  webhookEndpoint,
  webhookEndpointList,
  webhookEndpointWithSecret,
  webhookReplay,
} from './webhook-answers.ts';

const header = (thing: string) => z.object({ 'Idempotency-Key': idempotencyKey(thing, 'nothing is done twice') });
const path = z.object({ id: webhookEndpoint.shape.id.meta({ description: 'Of the endpoint.' }) });
const deliveryPath = path.extend({ delivery: webhookDelivery.shape.id.meta({ description: 'Of the delivery.' }) });

/** Keys of these routes are never forgotten. */
const OF_KEYS: readonly ProblemCode[] = [...ALWAYS, ...OF_POST].filter((code) => code !== 'idempotency_key_expired');

const stored = (description: string, schema: z.ZodType, examples: Examples) => ({
  description,
  headers: z.object({ 'Request-Id': requestId, 'Idempotency-Replayed': replayed }),
  content: { 'application/json': { schema, examples } },
});

const body = (schema: z.ZodType, examples: Examples, required = true) => ({
  required,
  description: `At most ${MAX_BODY_BYTES} bytes of JSON in UTF-8.`,
  content: { 'application/json': { schema, examples } },
});

/** The part of the API's description that is about webhooks. */
export const webhookPaths: ZodOpenApiPathsObject = {
  '/v1/webhook_endpoints': {
    get: {
      operationId: 'listWebhookEndpoints',
      summary: 'List the webhook endpoints',
      description: 'All of them; there are at most 16. Needs the scope `payments:read`.',
      responses: {
        200: shown('The endpoints.', webhookEndpointList, captured.operations.listWebhookEndpoints[200]),
        ...problemResponses(ALWAYS),
      },
    },
    post: {
      operationId: 'createWebhookEndpoint',
      summary: 'Have events sent to an address',
      description:
        'From now on each event of these types is posted to the address, signed as Standard Webhooks says, at least once: the ' +
        'header `webhook-id` is the same however often it comes. Needs the scope `payments:write`.',
      requestParams: { header: header('endpoint') },
      requestBody: body(createEndpointBody, captured.operations.createWebhookEndpoint.request),
      responses: {
        201: stored(
          'The endpoint, with its `secret`.',
          webhookEndpointWithSecret,
          captured.operations.createWebhookEndpoint[201],
        ),
        ...problemResponses([...OF_KEYS, 'url_not_allowed', 'webhook_endpoint_limit']),
      },
    },
  },
  '/v1/webhook_endpoints/{id}': {
    get: {
      operationId: 'getWebhookEndpoint',
      summary: 'Show a webhook endpoint',
      description: 'As it stands now, without its secret. Needs the scope `payments:read`.',
      requestParams: { path },
      responses: {
        200: shown('The endpoint.', webhookEndpoint, captured.operations.getWebhookEndpoint[200]),
        ...problemResponses(ALWAYS),
      },
    },
    patch: {
      operationId: 'updateWebhookEndpoint',
      summary: 'Change a webhook endpoint',
      description:
        'Says how it is to be; what is left out stays, and no key is needed. What was missed while it was switched off can be ' +
        'replayed. Needs the scope `payments:write`.',
      requestParams: { path },
      requestBody: body(updateEndpointBody, captured.operations.updateWebhookEndpoint.request),
      responses: {
        200: shown('The endpoint as it is now.', webhookEndpoint, captured.operations.updateWebhookEndpoint[200]),
        ...problemResponses([...OF_KEYS.filter((code) => !code.includes('idempotency_key')), 'url_not_allowed']),
      },
    },
    delete: {
      operationId: 'deleteWebhookEndpoint',
      summary: 'Delete a webhook endpoint',
      description: 'Nothing more is sent to it. Needs the scope `payments:write`.',
      requestParams: { path, header: header('deletion') },
      responses: {
        200: stored('It is gone.', deletedEndpoint, captured.operations.deleteWebhookEndpoint[200]),
        ...problemResponses(OF_KEYS),
      },
    },
  },
  '/v1/webhook_endpoints/{id}/rotate_secret': {
    post: {
      operationId: 'rotateWebhookSecret',
      summary: 'Replace the secret of a webhook endpoint',
      description:
        'The new secret signs at once; the one before signs beside it for as long as is asked, in the same header. Needs the ' +
        'scope `payments:write`.',
      requestParams: { path, header: header('rotation') },
      requestBody: body(rotateSecretBody, captured.operations.rotateWebhookSecret.request, false),
      responses: {
        200: stored(
          'The endpoint, with its new `secret`.',
          webhookEndpointWithSecret,
          captured.operations.rotateWebhookSecret[200],
        ),
        ...problemResponses(OF_KEYS),
      },
    },
  },
  '/v1/webhook_endpoints/{id}/replay': {
    post: {
      operationId: 'replayWebhooks',
      summary: 'Send again what happened in a range of time',
      description:
        'Every event of the range that the endpoint asks for is sent once more, under the id that it has always had. Needs ' +
        'the scope `payments:write`.',
      requestParams: { path, header: header('replay') },
      requestBody: body(replayBody, captured.operations.replayWebhooks.request),
      responses: {
        202: stored(
          'The replay was accepted, and goes on by itself.',
          webhookReplay,
          captured.operations.replayWebhooks[202],
        ),
        ...problemResponses([...OF_KEYS, 'webhook_endpoint_disabled']),
      },
    },
  },
  '/v1/webhook_endpoints/{id}/deliveries': {
    get: {
      operationId: 'listWebhookDeliveries',
      summary: 'List what was sent to a webhook endpoint',
      description:
        'Newest event first, with each attempt, how it was answered and how long it took; kept for 90 days. Needs the scope ' +
        '`payments:read`.',
      requestParams: { path, query: deliveriesQuery },
      responses: {
        200: shown('A page of deliveries.', webhookDeliveryList, captured.operations.listWebhookDeliveries[200]),
        ...problemResponses([...ALWAYS, 'invalid_request']),
      },
    },
  },
  '/v1/webhook_endpoints/{id}/deliveries/{delivery}/resend': {
    post: {
      operationId: 'resendWebhook',
      summary: 'Send an event once more, now',
      description:
        'One more attempt, whatever became of those before; one that waits for its turn is brought forward. Needs the scope ' +
        '`payments:write`.',
      requestParams: { path: deliveryPath, header: header('attempt') },
      responses: {
        202: stored('The delivery; the attempt follows.', webhookDelivery, captured.operations.resendWebhook[202]),
        ...problemResponses([...OF_KEYS, 'webhook_endpoint_disabled']),
      },
    },
  },
};
