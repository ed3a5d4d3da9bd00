import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { Scopes } from '../kernel/contract/api.ts';
import {
  createEndpointBody,
  deliveriesQuery,
  replayBody,
  rotateSecretBody,
  updateEndpointBody,
} from '../webhooks/http/webhook-schemas.ts';
import { keyed, reading, setting } from './operations.ts';
import {
  deletedEndpoint,
  webhookDelivery,
  webhookDeliveryList,
  webhookEndpoint,
  webhookEndpointList,
  webhookEndpointWithSecret,
  webhookReplay,
} from './webhook-answers.ts';

const path = z.object({ id: webhookEndpoint.shape.id.meta({ description: 'The id of the endpoint.' }) });
const deliveryPath = path.extend({
  delivery: webhookDelivery.shape.id.meta({ description: 'The id of the delivery.' }),
});

/** Common properties of operations on endpoints. An expired key is not refused: a request with it counts as new. */
const ENDPOINT_ACCESS = { scope: Scopes.webhooksWrite, expires: false } as const;
const PROMISE = 'nothing happens twice';

/** Webhook endpoints and deliveries. */
export const webhookPaths: ZodOpenApiPathsObject = {
  '/v1/webhook_endpoints': {
    get: reading({
      role: 'viewer',
      operationId: 'listWebhookEndpoints',
      summary: 'List the webhook endpoints',
      description: 'All of them; there are at most 16.',
      scope: Scopes.webhooksRead,
      answers: { 200: { description: 'The endpoints.', schema: webhookEndpointList } },
    }),
    post: keyed({
      ...ENDPOINT_ACCESS,
      operationId: 'createWebhookEndpoint',
      summary: 'Create a webhook endpoint',
      description:
        'From now on each event of these types is posted to the URL at least once, signed as Standard Webhooks specifies. Every ' +
        'attempt at an event has the same `webhook-id` header.',
      key: ['endpoint', 'no second endpoint is ever made'],
      body: { schema: createEndpointBody },
      located: true,
      answers: { 201: { description: 'The endpoint, with its `secret`.', schema: webhookEndpointWithSecret } },
      problems: ['url_not_allowed', 'webhook_endpoint_limit'],
    }),
  },
  '/v1/webhook_endpoints/{id}': {
    get: reading({
      role: 'viewer',
      operationId: 'getWebhookEndpoint',
      summary: 'Retrieve a webhook endpoint',
      description: 'The current state, without the secret.',
      scope: Scopes.webhooksRead,
      path,
      answers: { 200: { description: 'The endpoint.', schema: webhookEndpoint } },
    }),
    patch: setting({
      operationId: 'updateWebhookEndpoint',
      summary: 'Update a webhook endpoint',
      description:
        'Sets the given fields and keeps the others. It needs no key. Events that occurred while the endpoint was disabled can be replayed.',
      scope: Scopes.webhooksWrite,
      path,
      body: { schema: updateEndpointBody },
      answers: { 200: { description: 'The endpoint after the update.', schema: webhookEndpoint } },
      problems: ['url_not_allowed'],
    }),
    delete: keyed({
      ...ENDPOINT_ACCESS,
      operationId: 'deleteWebhookEndpoint',
      summary: 'Delete a webhook endpoint',
      description: 'No further event is sent to it.',
      path,
      key: ['deletion', PROMISE],
      answers: { 200: { description: 'The endpoint was deleted.', schema: deletedEndpoint } },
    }),
  },
  '/v1/webhook_endpoints/{id}/rotate_secret': {
    post: keyed({
      ...ENDPOINT_ACCESS,
      expires: true,
      role: 'owner',
      operationId: 'rotateWebhookSecret',
      summary: 'Replace the secret of a webhook endpoint',
      description:
        'The new secret signs immediately. The previous one also signs, in the same header, for `overlap_seconds`. At most four secrets sign at a time: a rotation that would revoke one before the end of its overlap is refused.',
      path,
      key: ['rotation', PROMISE],
      body: { schema: rotateSecretBody, required: false },
      answers: { 200: { description: 'The endpoint, with its new `secret`.', schema: webhookEndpointWithSecret } },
    }),
  },
  '/v1/webhook_endpoints/{id}/replay': {
    post: keyed({
      ...ENDPOINT_ACCESS,
      expires: true,
      role: 'operator',
      operationId: 'replayWebhooks',
      summary: 'Send the events of a range of time again',
      description: 'Every event of the range that the endpoint subscribes to is sent once more, with its original id.',
      path,
      key: ['replay', PROMISE],
      body: { schema: replayBody },
      answers: { 202: { description: 'The replay was accepted and runs in the background.', schema: webhookReplay } },
      problems: ['webhook_endpoint_disabled', 'webhook_replay_running'],
    }),
  },
  '/v1/webhook_endpoints/{id}/deliveries': {
    get: reading({
      role: 'viewer',
      operationId: 'listWebhookDeliveries',
      summary: 'List the deliveries of a webhook endpoint',
      description:
        'Newest event first, with the result and the duration of each attempt. Deliveries are kept for 90 days.',
      scope: Scopes.webhooksRead,
      path,
      query: deliveriesQuery,
      answers: { 200: { description: 'A page of deliveries.', schema: webhookDeliveryList } },
    }),
  },
  '/v1/webhook_endpoints/{id}/deliveries/{delivery}': {
    get: reading({
      role: 'viewer',
      operationId: 'getWebhookDelivery',
      summary: 'Retrieve a delivery',
      description: 'The current state. A delivery is kept for 90 days.',
      scope: Scopes.webhooksRead,
      path: deliveryPath,
      answers: { 200: { description: 'The delivery.', schema: webhookDelivery } },
    }),
  },
  '/v1/webhook_endpoints/{id}/replays/{replay}': {
    get: reading({
      role: 'viewer',
      operationId: 'getWebhookReplay',
      summary: 'Retrieve a replay',
      description: 'The current state.',
      scope: Scopes.webhooksRead,
      path: path.extend({ replay: webhookReplay.shape.id.meta({ description: 'The id of the replay.' }) }),
      answers: { 200: { description: 'The replay.', schema: webhookReplay } },
    }),
  },
  '/v1/webhook_endpoints/{id}/test': {
    post: keyed({
      ...ENDPOINT_ACCESS,
      expires: true,
      role: 'operator',
      operationId: 'testWebhook',
      summary: 'Send a test event',
      description:
        'Sends an event of the type `webhook_endpoint.test` to this endpoint, signed and delivered like all others, even if the endpoint subscribes only to other events. It does not concern a payment. There is one attempt, whose failure does not disable the endpoint, except for an answer of 410.',
      path,
      key: ['test event', PROMISE],
      answers: { 202: { description: 'The delivery. The attempt follows.', schema: webhookDelivery } },
      problems: ['webhook_endpoint_disabled'],
    }),
  },
  '/v1/webhook_endpoints/{id}/deliveries/{delivery}/resend': {
    post: keyed({
      ...ENDPOINT_ACCESS,
      expires: true,
      role: 'operator',
      operationId: 'resendWebhook',
      summary: 'Send an event again',
      description:
        'Makes one more attempt now, whatever the result of the earlier ones. A scheduled attempt is brought forward. If the endpoint is slow, the attempt waits for its turn among the other webhooks of the endpoint.',
      path: deliveryPath,
      key: ['attempt', PROMISE],
      answers: { 202: { description: 'The delivery. The attempt follows.', schema: webhookDelivery } },
      problems: ['webhook_endpoint_disabled'],
    }),
  },
};
