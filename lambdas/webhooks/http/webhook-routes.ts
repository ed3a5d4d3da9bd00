import * as z from 'zod';
import { type Call as CallWith, causedByRequest, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import {
  type KeyedCall,
  keyed,
  type ReadingCall,
  reading,
  type SettingCall,
  setting,
  type TenantEndpoint,
} from '../../http/endpoint.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { keyedCounts, ownKey, payloadMismatch, replayed } from '../../http/keyed-request.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import { type ProblemCode, problem } from '../../http/problems.ts';
import type { Answer } from '../../kernel/answer.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { KeyScope } from '../../kernel/idempotency-key.ts';
import { deliveryObject, isDeliveryId } from '../domain/webhook-delivery.ts';
import { endpointObject, endpointOf } from '../domain/webhook-endpoint.ts';
import { LONGEST_REPLAY_SECONDS, REPLAY_ID, replayObject } from '../domain/webhook-replay.ts';
import { deriveEndpointId, deriveReplayId, webhookOperation } from '../ids.ts';
import { acceptReplay } from '../use/replay-webhooks.ts';
import { type AskTools, resendWebhook } from '../use/resend-webhook.ts';
import { testWebhook } from '../use/test-webhook.ts';
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointChange,
  type EndpointTools,
  rotateSecret,
  updateEndpoint,
} from '../use/webhook-endpoints.ts';
import {
  deletedEndpoint,
  webhookDelivery,
  webhookDeliveryList,
  webhookEndpoint,
  webhookEndpointList,
  webhookEndpointWithSecret,
  webhookReplay,
} from './webhook-answers.ts';
import {
  createEndpointBody,
  DEFAULT_OVERLAP_SECONDS,
  deliveriesQuery,
  replayBody,
  rotateSecretBody,
  updateEndpointBody,
} from './webhook-schemas.ts';

export interface WebhookApiTools extends EndpointTools, AskTools {
  readonly digest: Digest;
}

type Call = CallWith<WebhookApiTools>;

const path = z.object({ id: webhookEndpoint.shape.id.meta({ description: 'The id of the endpoint.' }) });
const deliveryPath = path.extend({
  delivery: webhookDelivery.shape.id.meta({ description: 'The id of the delivery.' }),
});
const READ = { scope: Scopes.webhooksRead, role: 'viewer' } as const;
const NOTHING_TWICE = 'nothing happens twice';

const postEndpoint = keyed({
  path: '/v1/webhook_endpoints',
  scope: Scopes.webhooksWrite,
  body: createEndpointBody,
  handle: async (call: KeyedCall<WebhookApiTools, typeof createEndpointBody>) => {
    const { url, events, description } = call.body;
    const { request, scope } = requested(call);
    const endpointId = deriveEndpointId(call.tools.digest, scope);
    const wishes = { url, events, ...defined({ description }) };
    return handled(call, await createEndpoint(call.tools, { ...request, ...wishes, endpointId }));
  },
  docs: {
    operationId: 'createWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Create a webhook endpoint',
    description:
      'From now on, each event of these types is posted to the URL at least once, signed as Standard Webhooks specifies. All ' +
      'attempts to deliver an event have the same `webhook-id` header.',
    key: ['endpoint', 'no second endpoint is ever made'],
    located: true,
    requests: {
      all: { summary: 'All events', value: { url: 'https://shop.co.uk/hooks', events: ['*'] } },
      some: {
        summary: 'Some events',
        value: {
          url: 'https://shop.co.uk/hooks',
          events: ['payment.completed', 'payment.failed'],
          description: 'Order system',
        },
      },
    },
    answers: { 201: { description: 'The endpoint, with its `secret`.', schema: webhookEndpointWithSecret } },
    problems: ['url_not_allowed', 'webhook_endpoint_limit'],
  },
});

const postRotation = keyed({
  path: '/v1/webhook_endpoints/{id}/rotate_secret',
  scope: Scopes.webhooksWrite,
  role: 'owner',
  body: rotateSecretBody,
  optionalBody: true,
  handle: async (call: KeyedCall<WebhookApiTools, typeof rotateSecretBody>) => {
    const { overlap_seconds: overlapSeconds = DEFAULT_OVERLAP_SECONDS } = call.body;
    const { request } = requested(call);
    return handled(call, await rotateSecret(call.tools, { ...request, endpointId: call.id, overlapSeconds }));
  },
  docs: {
    operationId: 'rotateWebhookSecret',
    tag: 'Webhooks',
    summary: 'Replace the secret of a webhook endpoint',
    description:
      'The new secret signs immediately. The previous secret also signs, in the same header, for `overlap_seconds`. At most four secrets sign at the same time: a rotation that would end a secret before the end of its overlap is refused.',
    path,
    key: ['rotation', NOTHING_TWICE],
    requests: { hour: { summary: 'Both secrets sign for one hour', value: { overlap_seconds: 3_600 } } },
    answers: { 200: { description: 'The endpoint, with its new `secret`.', schema: webhookEndpointWithSecret } },
  },
});

const deleteRoute = keyed({
  method: 'DELETE',
  path: '/v1/webhook_endpoints/{id}',
  scope: Scopes.webhooksWrite,
  handle: async (call: KeyedCall<WebhookApiTools>) =>
    handled(call, await deleteEndpoint(call.tools, { ...requested(call).request, endpointId: call.id })),
  docs: {
    operationId: 'deleteWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Delete a webhook endpoint',
    description: 'No further events are sent to the endpoint.',
    path,
    key: ['deletion', NOTHING_TWICE],
    expires: false,
    answers: { 200: { description: 'The endpoint was deleted.', schema: deletedEndpoint } },
  },
});

const patchEndpoint = setting({
  role: 'operator',
  path: '/v1/webhook_endpoints/{id}',
  scope: Scopes.webhooksWrite,
  body: updateEndpointBody,
  handle: async (call: SettingCall<WebhookApiTools, typeof updateEndpointBody>) => {
    const { tools, caller, request, id, body } = call;
    const ofTenant = Object.keys(body).find((field) => field !== 'enabled');
    if (caller.by.by === 'operator' && ofTenant !== undefined) {
      const detail = `Only the tenant can set ${ofTenant}. An operator can only set enabled.`;
      return refusal(problem('invalid_request', detail, ofTenant), request);
    }
    const change = Object.fromEntries(
      Object.entries(body).filter(([, value]) => value !== undefined),
    ) as EndpointChange;
    const outcome = await updateEndpoint(tools, {
      owner: caller,
      cause: causedByRequest(call),
      endpointId: id,
      change,
    });
    return outcome.kind === 'updated' ? found(endpointObject(outcome.endpoint, caller)) : handled(call, outcome);
  },
  docs: {
    operationId: 'updateWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Update a webhook endpoint',
    description:
      'Sets the given fields and keeps the others. The request needs no idempotency key. Events that occurred while the endpoint was disabled can be replayed. An operator can only set `enabled`.',
    path,
    requests: { off: { summary: 'Disable the endpoint', value: { enabled: false } } },
    answers: { 200: { description: 'The endpoint after the update.', schema: webhookEndpoint } },
    problems: ['url_not_allowed'],
  },
});

const listEndpoints = reading({
  ...READ,
  path: '/v1/webhook_endpoints',
  handle: async ({ tools, caller }: ReadingCall<WebhookApiTools>) => {
    const { endpoints } = await tools.webhooks.readBook(caller);
    const data = endpoints.map((endpoint) => endpointObject(endpoint, caller));
    return found({ object: 'list', data, has_more: false });
  },
  docs: {
    operationId: 'listWebhookEndpoints',
    tag: 'Webhooks',
    summary: 'List the webhook endpoints',
    description: 'Lists all endpoints. There are at most 16.',
    answers: { 200: { description: 'The endpoints.', schema: webhookEndpointList } },
  },
});

const getEndpoint = reading({
  ...READ,
  path: '/v1/webhook_endpoints/{id}',
  handle: async (call: ReadingCall<WebhookApiTools>) => {
    const { tools, caller, id } = call;
    const endpoint = endpointOf(await tools.webhooks.readBook(caller), id);
    return endpoint === undefined ? handled(call, { kind: 'not_found' }) : found(endpointObject(endpoint, caller));
  },
  docs: {
    operationId: 'getWebhookEndpoint',
    tag: 'Webhooks',
    summary: 'Retrieve a webhook endpoint',
    description: 'Returns the current state of the endpoint, without the secret.',
    path,
    answers: { 200: { description: 'The endpoint.', schema: webhookEndpoint } },
  },
});

const listDeliveries = reading({
  ...READ,
  path: '/v1/webhook_endpoints/{id}/deliveries',
  query: deliveriesQuery,
  handle: deliveries,
  docs: {
    operationId: 'listWebhookDeliveries',
    tag: 'Webhooks',
    summary: 'List the deliveries of a webhook endpoint',
    description:
      'Newest event first, with the result and the duration of each attempt. Deliveries are kept for 90 days.',
    path,
    answers: { 200: { description: 'A page of deliveries.', schema: webhookDeliveryList } },
  },
});

async function deliveries(call: ReadingCall<WebhookApiTools, typeof deliveriesQuery>): Promise<Handled> {
  const { tools, caller, request, id, query } = call;
  if (endpointOf(await tools.webhooks.readBook(caller), id) === undefined) return handled(call, { kind: 'not_found' });
  const { limit = DEFAULT_PAGE, starting_after: after } = query;
  // The cursor must be a delivery of this endpoint, so that a page cannot start at another tenant's delivery.
  if (after !== undefined && (await tools.webhooks.readDelivery(id, after)) === undefined) {
    const detail = 'starting_after must be the id of a delivery from an earlier page of this list.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const page = { limit: limit + 1, ...defined({ after }) };
  const listed = await tools.webhooks.listDeliveries(id, page);
  return found({
    object: 'list',
    data: listed.slice(0, limit).map(deliveryObject),
    has_more: listed.length > limit,
  });
}

const getDelivery = reading({
  ...READ,
  path: '/v1/webhook_endpoints/{id}/deliveries/{delivery}',
  handle: (call: ReadingCall<WebhookApiTools>) =>
    showPart(call, async ({ tools: { webhooks }, id, pieces }) => {
      const { delivery: deliveryId = '' } = pieces;
      const delivery = isDeliveryId(deliveryId) ? await webhooks.readDelivery(id, deliveryId) : undefined;
      return delivery && deliveryObject(delivery);
    }),
  docs: {
    operationId: 'getWebhookDelivery',
    tag: 'Webhooks',
    summary: 'Retrieve a delivery',
    description: 'Returns the current state of the delivery. Deliveries are kept for 90 days.',
    path: deliveryPath,
    answers: { 200: { description: 'The delivery.', schema: webhookDelivery } },
  },
});

const getReplay = reading({
  ...READ,
  path: '/v1/webhook_endpoints/{id}/replays/{replay}',
  handle: (call: ReadingCall<WebhookApiTools>) =>
    showPart(call, async ({ tools: { webhooks }, id, pieces }) => {
      const { replay: replayId = '' } = pieces;
      const known = REPLAY_ID.test(replayId) ? await webhooks.readReplay(replayId) : undefined;
      return known?.endpointId === id ? replayObject(known) : undefined;
    }),
  docs: {
    operationId: 'getWebhookReplay',
    tag: 'Webhooks',
    summary: 'Retrieve a replay',
    description: 'Returns the current state of the replay.',
    path: path.extend({ replay: webhookReplay.shape.id.meta({ description: 'The id of the replay.' }) }),
    answers: { 200: { description: 'The replay.', schema: webhookReplay } },
  },
});

async function showPart(
  call: Call,
  read: (call: Call) => Promise<Readonly<Record<string, unknown>> | undefined>,
): Promise<Handled> {
  const { tools, caller, id } = call;
  const isOwn = endpointOf(await tools.webhooks.readBook(caller), id) !== undefined;
  const part = isOwn ? await read(call) : undefined;
  return part === undefined ? handled(call, { kind: 'not_found' }) : found(part);
}

const postResend = keyed({
  path: '/v1/webhook_endpoints/{id}/deliveries/{delivery}/resend',
  scope: Scopes.webhooksWrite,
  role: 'operator',
  handle: async (call: KeyedCall<WebhookApiTools>) => {
    const deliveryId = call.pieces['delivery'] ?? '';
    const { request } = requested(call);
    return handled(call, await resendWebhook(call.tools, { ...request, endpointId: call.id, deliveryId }));
  },
  docs: {
    operationId: 'resendWebhook',
    tag: 'Webhooks',
    summary: 'Send an event again',
    description:
      'Makes one more attempt now, regardless of the results of earlier attempts. A scheduled attempt is brought forward. If the endpoint is slow, the attempt waits for its turn among the other webhooks of the endpoint.',
    path: deliveryPath,
    key: ['attempt', NOTHING_TWICE],
    answers: {
      202: { description: 'The delivery. The attempt is made after this response.', schema: webhookDelivery },
    },
    problems: ['webhook_endpoint_disabled'],
  },
});

const postTest = keyed({
  path: '/v1/webhook_endpoints/{id}/test',
  scope: Scopes.webhooksWrite,
  role: 'operator',
  handle: async (call: KeyedCall<WebhookApiTools>) =>
    handled(call, await testWebhook(call.tools, { ...requested(call).request, endpointId: call.id })),
  docs: {
    operationId: 'testWebhook',
    tag: 'Webhooks',
    summary: 'Send a test event',
    description:
      'Sends an event of the type `webhook_endpoint.test` to this endpoint, signed and delivered like all others, even if the endpoint subscribes only to other events. The event does not concern a payment. There is only one attempt. A failure does not disable the endpoint, except if the response is 410.',
    path,
    key: ['test event', NOTHING_TWICE],
    answers: {
      202: { description: 'The delivery. The attempt is made after this response.', schema: webhookDelivery },
    },
    problems: ['webhook_endpoint_disabled'],
  },
});

const postReplay = keyed({
  path: '/v1/webhook_endpoints/{id}/replay',
  scope: Scopes.webhooksWrite,
  role: 'operator',
  body: replayBody,
  handle: replay,
  docs: {
    operationId: 'replayWebhooks',
    tag: 'Webhooks',
    summary: 'Send the events of a time range again',
    description:
      'Resends the events of the time range that have a subscribed type, with their original ids. With `only_undelivered`, resends only those that the endpoint has not accepted.',
    path,
    key: ['replay', NOTHING_TWICE],
    requests: {
      day: { summary: 'One day', value: { created_from: 1_772_366_400, created_to: 1_772_452_800 } },
      missing: {
        summary: 'Events that the endpoint missed on this day',
        value: { created_from: 1_772_366_400, created_to: 1_772_452_800, only_undelivered: true },
      },
    },
    answers: { 202: { description: 'The replay was accepted and runs in the background.', schema: webhookReplay } },
    problems: ['webhook_endpoint_disabled', 'webhook_replay_running'],
  },
});

async function replay(call: KeyedCall<WebhookApiTools, typeof replayBody>): Promise<Handled> {
  const { created_from: from, created_to: to, events, only_undelivered: isPartial = false } = call.body;
  const { request, scope } = requested(call);
  if (from >= to || to - from > LONGEST_REPLAY_SECONDS) {
    const detail = `created_from must be ${from >= to ? '' : 'at most 31 days '}before created_to.`;
    return refusal(problem('invalid_request', detail, 'created_from'), call.request);
  }
  const outcome = await acceptReplay(call.tools, {
    ...request,
    endpointId: call.id,
    replayId: deriveReplayId(call.tools.digest, scope),
    fromMs: from * 1000,
    untilMs: to * 1000,
    isPartial,
    ...defined({ events }),
  });
  return handled(call, outcome);
}

function requested(call: Call & Pick<KeyedCall<WebhookApiTools>, 'key' | 'fingerprint'>) {
  const { request, caller, tools, key, fingerprint } = call;
  const scope: KeyScope = { ...ownKey(caller, key), method: request.method, path: `/${request.path.join('/')}` };
  const operationId = webhookOperation(tools.digest, scope);
  call.logFields.operationId = operationId;
  return { request: { caller, operationId, fingerprint, cause: causedByRequest(call) }, scope };
}

type Outcome =
  | { readonly kind: 'first' | 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' | 'key_expired' | 'not_found' | 'endpoint_disabled' | 'range_too_old' }
  | { readonly kind: 'url_refused'; readonly reason: string }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | { readonly kind: 'too_many_secrets'; readonly fromMs: number }
  | { readonly kind: 'replay_running'; readonly replayId: string };

function handled({ request: { requestId } }: Call, outcome: Outcome): Handled {
  return { answer: answerOf(outcome, requestId), outcome: outcome.kind, counts: keyedCounts(outcome) };
}

function answerOf(outcome: Outcome, requestId: string): Answer {
  const refuse = (code: ProblemCode, detail: string, param?: string): Answer =>
    problemAnswer(problem(code, detail, param), requestId);
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'key_expired':
      return refuse(
        'idempotency_key_expired',
        'A request with this Idempotency-Key has taken effect, and its response is no longer stored. Retrieve the endpoint, the delivery or the replay.',
      );
    case 'not_found':
      return refuse('not_found', 'There is no such webhook endpoint, delivery or replay.');
    case 'endpoint_disabled':
      return refuse('webhook_endpoint_disabled', 'This webhook endpoint is disabled, so nothing is sent to it.');
    case 'range_too_old':
      return refuse(
        'invalid_request',
        'created_from must be within the last 90 days if only_undelivered is true: older deliveries are no longer stored.',
        'created_from',
      );
    case 'replay_running':
      return refuse(
        'webhook_replay_running',
        `The replay ${outcome.replayId} of this webhook endpoint is still running. Retry after it has ended.`,
      );
    case 'url_refused':
      return refuse('url_not_allowed', `url ${outcome.reason}.`, 'url');
    case 'limit_reached':
      return refuse(
        'webhook_endpoint_limit',
        `There are already ${outcome.limit} webhook endpoints, which is the maximum.`,
      );
    case 'too_many_secrets':
      return refuse(
        'invalid_request',
        `overlap_seconds must be 0 until ${new Date(outcome.fromMs).toISOString()}, because this endpoint already signs with the maximum number of secrets.`,
        'overlap_seconds',
      );
  }
}

export const WEBHOOK_ROUTES: readonly TenantEndpoint<WebhookApiTools>[] = [
  listEndpoints,
  postEndpoint,
  getEndpoint,
  patchEndpoint,
  deleteRoute,
  postRotation,
  listDeliveries,
  getDelivery,
  getReplay,
  postResend,
  postReplay,
  postTest,
];
