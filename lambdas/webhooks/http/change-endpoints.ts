import * as z from 'zod';
import { found, type Handled, refusal } from '../../http/http-api.ts';
import { readJsonObject } from '../../http/json-body.ts';
import { validateBody, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { emptyQuery } from '../../payments/http/payment-schemas.ts';
import { deriveEndpointId, endpointObject } from '../domain/webhook-endpoint.ts';
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointChange,
  rotateSecret,
  updateEndpoint,
} from '../use/webhook-endpoints.ts';
import { type Call, handled, type Route, readKeyed } from './route.ts';
import {
  createEndpointBody,
  DEFAULT_OVERLAP_SECONDS,
  rotateSecretBody,
  updateEndpointBody,
} from './webhook-schemas.ts';

export const postEndpoint: Route = {
  method: 'POST',
  path: '/v1/webhook_endpoints',
  scope: Scopes.paymentsWrite,
  handle: async (call) => {
    const keyed = readKeyed(call, 'POST', createEndpointBody);
    if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
    const { request, scope, body } = keyed.value;
    const { url, events, description } = body;
    const endpointId = deriveEndpointId(call.tools.digest, scope);
    const wishes = { url, events, ...(description === undefined ? {} : { description }) };
    return handled(call, await createEndpoint(call.tools, { ...request, ...wishes, endpointId }));
  },
};

export const postRotation: Route = {
  method: 'POST',
  path: '/v1/webhook_endpoints/{id}/rotate_secret',
  scope: Scopes.paymentsWrite,
  handle: async (call) => {
    const keyed = readKeyed(call, 'POST', rotateSecretBody);
    if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
    const { request, body } = keyed.value;
    const overlapSeconds = body.overlap_seconds ?? DEFAULT_OVERLAP_SECONDS;
    return handled(call, await rotateSecret(call.tools, { ...request, endpointId: call.id, overlapSeconds }));
  },
};

export const deleteRoute: Route = {
  method: 'DELETE',
  path: '/v1/webhook_endpoints/{id}',
  scope: Scopes.paymentsWrite,
  handle: async (call) => {
    const keyed = readKeyed(call, 'DELETE', z.strictObject({}));
    if (keyed.kind === 'refused') return refusal(keyed.problem, call.request);
    return handled(call, await deleteEndpoint(call.tools, { ...keyed.value.request, endpointId: call.id }));
  },
};

export const patchEndpoint: Route = {
  method: 'PATCH',
  path: '/v1/webhook_endpoints/{id}',
  scope: Scopes.paymentsWrite,
  handle: update,
};

/** Says how things are to be, so it needs no key: made twice, it comes to the same. */
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
  const outcome = await updateEndpoint(tools, { owner: caller, endpointId: id, change });
  return outcome.kind === 'updated' ? found(endpointObject(outcome.endpoint, caller)) : handled(call, outcome);
}
