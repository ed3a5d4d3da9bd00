import * as z from 'zod';
import {
  type Call as CallWith,
  causedByRequest,
  found,
  type Handled,
  type Route as RouteWith,
  refusal,
} from '../../http/authenticated-api.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { readJsonObject, readOptionalJsonObject } from '../../http/json-body.ts';
import { keyedCounts, ownKey, payloadMismatch, readKeyedRequest, replayed } from '../../http/keyed-request.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import { type Parsed, type ProblemCode, problem, valid } from '../../http/problems.ts';
import { emptyQuery, validateBody, validateQuery } from '../../http/validate.ts';
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
  type KeyedRequest,
  rotateSecret,
  updateEndpoint,
} from '../use/webhook-endpoints.ts';
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
type Route = RouteWith<WebhookApiTools>;

const postEndpoint: Route = {
  method: 'POST',
  path: '/v1/webhook_endpoints',
  scope: Scopes.webhooksWrite,
  handle: async (call) => {
    const keyed = readKeyed(call, 'POST', createEndpointBody);
    if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
    const { request, scope, body } = keyed.value;
    const { url, events, description } = body;
    const endpointId = deriveEndpointId(call.tools.digest, scope);
    const wishes = { url, events, ...defined({ description }) };
    return handled(call, await createEndpoint(call.tools, { ...request, ...wishes, endpointId }));
  },
};

const postRotation: Route = {
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/rotate_secret',
  scope: Scopes.webhooksWrite,
  role: 'owner',
  handle: async (call) => {
    const keyed = readKeyed(call, 'POST', rotateSecretBody);
    if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
    const { request, body } = keyed.value;
    const overlapSeconds = body.overlap_seconds ?? DEFAULT_OVERLAP_SECONDS;
    return handled(call, await rotateSecret(call.tools, { ...request, endpointId: call.id, overlapSeconds }));
  },
};

const deleteRoute: Route = {
  method: 'DELETE',
  path: '/v1/webhook_endpoints/{id}',
  scope: Scopes.webhooksWrite,
  handle: async (call) => {
    const keyed = readKeyed(call, 'DELETE', z.strictObject({}));
    if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
    return handled(call, await deleteEndpoint(call.tools, { ...keyed.value.request, endpointId: call.id }));
  },
};

const patchEndpoint: Route = {
  method: 'PATCH',
  path: '/v1/webhook_endpoints/{id}',
  scope: Scopes.webhooksWrite,
  handle: update,
};

/**
 * Updates an endpoint. The request states the resulting values, so a repeated request has the same effect and needs no
 * idempotency key.
 */
async function update(call: Call): Promise<Handled> {
  const { request, tools, caller, id } = call;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const sent = readJsonObject(request);
  if (sent.kind === 'refused') return refusal(sent.problem, request);
  const body = validateBody(updateEndpointBody, sent.value);
  if (body.kind === 'refused') return refusal(body.problem, request);
  const change = Object.fromEntries(
    Object.entries(body.value).filter(([, value]) => value !== undefined),
  ) as EndpointChange;
  const outcome = await updateEndpoint(tools, { owner: caller, cause: causedByRequest(call), endpointId: id, change });
  return outcome.kind === 'updated' ? found(endpointObject(outcome.endpoint, caller)) : handled(call, outcome);
}

const listEndpoints: Route = {
  method: 'GET',
  path: '/v1/webhook_endpoints',
  scope: Scopes.webhooksRead,
  role: 'viewer',
  handle: async ({ tools, caller, request }) => {
    const query = validateQuery(emptyQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { endpoints } = await tools.webhooks.readBook(caller);
    const data = endpoints.map((endpoint) => endpointObject(endpoint, caller));
    return found({ object: 'list', data, has_more: false });
  },
};

const getEndpoint: Route = {
  method: 'GET',
  path: '/v1/webhook_endpoints/{id}',
  scope: Scopes.webhooksRead,
  role: 'viewer',
  handle: async (call) => {
    const { tools, caller, request, id } = call;
    const query = validateQuery(emptyQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const endpoint = endpointOf(await tools.webhooks.readBook(caller), id);
    return endpoint === undefined ? handled(call, { kind: 'not_found' }) : found(endpointObject(endpoint, caller));
  },
};

const listDeliveries: Route = {
  method: 'GET',
  path: '/v1/webhook_endpoints/{id}/deliveries',
  scope: Scopes.webhooksRead,
  role: 'viewer',
  handle: deliveries,
};

async function deliveries(call: Call): Promise<Handled> {
  const { tools, caller, request, id } = call;
  const query = validateQuery(deliveriesQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  if (endpointOf(await tools.webhooks.readBook(caller), id) === undefined) return handled(call, { kind: 'not_found' });
  const { limit = DEFAULT_PAGE, starting_after: after } = query.value;
  // The cursor must be a delivery of this endpoint, so a page cannot start at a delivery of another tenant.
  if (after !== undefined && (await tools.webhooks.readDelivery(id, after)) === undefined) {
    const detail = 'starting_after must be the id of a delivery that a page of this list has shown.';
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

const getDelivery: Route = {
  method: 'GET',
  path: '/v1/webhook_endpoints/{id}/deliveries/{delivery}',
  scope: Scopes.webhooksRead,
  role: 'viewer',
  handle: (call) =>
    showPart(call, async ({ tools: { webhooks }, id, pieces }) => {
      const { delivery: deliveryId = '' } = pieces;
      const delivery = isDeliveryId(deliveryId) ? await webhooks.readDelivery(id, deliveryId) : undefined;
      return delivery && deliveryObject(delivery);
    }),
};

const getReplay: Route = {
  method: 'GET',
  path: '/v1/webhook_endpoints/{id}/replays/{replay}',
  scope: Scopes.webhooksRead,
  role: 'viewer',
  handle: (call) =>
    showPart(call, async ({ tools: { webhooks }, id, pieces }) => {
      const { replay: replayId = '' } = pieces;
      const known = REPLAY_ID.test(replayId) ? await webhooks.readReplay(replayId) : undefined;
      return known?.endpointId === id ? replayObject(known) : undefined;
    }),
};

/** Shows a delivery or a replay of one of the caller's endpoints. */
async function showPart(
  call: Call,
  read: (call: Call) => Promise<Readonly<Record<string, unknown>> | undefined>,
): Promise<Handled> {
  const { tools, caller, request, id } = call;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const isOwn = endpointOf(await tools.webhooks.readBook(caller), id) !== undefined;
  const part = isOwn ? await read(call) : undefined;
  return part === undefined ? handled(call, { kind: 'not_found' }) : found(part);
}

const postResend: Route = {
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/deliveries/{delivery}/resend',
  scope: Scopes.webhooksWrite,
  role: 'operator',
  handle: async (call) => {
    const keyed = readKeyed(call, 'POST', z.strictObject({}));
    if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
    const deliveryId = call.pieces['delivery'] ?? '';
    return handled(call, await resendWebhook(call.tools, { ...keyed.value.request, endpointId: call.id, deliveryId }));
  },
};

const postTest: Route = {
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/test',
  scope: Scopes.webhooksWrite,
  role: 'operator',
  handle: async (call) => {
    const keyed = readKeyed(call, 'POST', z.strictObject({}));
    if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
    return handled(call, await testWebhook(call.tools, { ...keyed.value.request, endpointId: call.id }));
  },
};

const postReplay: Route = {
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/replay',
  scope: Scopes.webhooksWrite,
  role: 'operator',
  handle: replay,
};

async function replay(call: Call): Promise<Handled> {
  const keyed = readKeyed(call, 'POST', replayBody);
  if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
  const { request, scope, body } = keyed.value;
  const { created_from: from, created_to: to, events } = body;
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
    ...defined({ events }),
  });
  return handled(call, outcome);
}

interface Keyed<Body> {
  readonly request: KeyedRequest;
  readonly scope: KeyScope;
  readonly body: Body;
}

/** Reads a keyed request. The body can be absent if the schema accepts an empty object. */
function readKeyed<Body>(call: Call, method: 'POST' | 'DELETE', schema: z.ZodType<Body>): Parsed<Keyed<Body>> {
  const { request, caller, tools } = call;
  const read = readKeyedRequest(tools.digest, request, schema, readOptionalJsonObject);
  if (read.kind === 'refused') return read;
  const { key, body, fingerprint } = read.value;
  const scope: KeyScope = { ...ownKey(caller, key), method, path: `/${request.path.join('/')}` };
  const operationId = webhookOperation(tools.digest, scope);
  call.logFields.operationId = operationId;
  return valid({ request: { caller, operationId, fingerprint, cause: causedByRequest(call) }, scope, body });
}

type Outcome =
  | { readonly kind: 'first' | 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' | 'key_expired' | 'not_found' | 'endpoint_disabled' }
  | { readonly kind: 'url_refused'; readonly reason: string }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | { readonly kind: 'too_many_secrets'; readonly fromMs: number }
  | { readonly kind: 'replay_running'; readonly replayId: string };

/** Maps outcomes to answers. */
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
        'This Idempotency-Key has had its effect, and its answer is no longer stored. Read the endpoint, the delivery or the replay.',
      );
    case 'not_found':
      return refuse('not_found', 'There is no such webhook endpoint, delivery or replay.');
    case 'endpoint_disabled':
      return refuse('webhook_endpoint_disabled', 'This webhook endpoint is disabled: nothing is sent to it.');
    case 'replay_running':
      return refuse(
        'webhook_replay_running',
        `The replay ${outcome.replayId} of this webhook endpoint is running. Retry when it has ended.`,
      );
    case 'url_refused':
      return refuse('url_not_allowed', `url ${outcome.reason}.`, 'url');
    case 'limit_reached':
      return refuse(
        'webhook_endpoint_limit',
        `There are ${outcome.limit} webhook endpoints already, which is the maximum.`,
      );
    case 'too_many_secrets':
      return refuse(
        'invalid_request',
        `overlap_seconds must be 0 until ${new Date(outcome.fromMs).toISOString()}: the maximum number of secrets is signing already.`,
        'overlap_seconds',
      );
  }
}

/** The routes of the webhook API. */
export const WEBHOOK_ROUTES: readonly Route[] = [
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
