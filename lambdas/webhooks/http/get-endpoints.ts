import { found, type Handled, refusal } from '../../http/http-api.ts';
import { problem } from '../../http/problems.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { DEFAULT_PAGE, emptyQuery } from '../../payments/http/payment-schemas.ts';
import { deliveryObject } from '../domain/webhook-delivery.ts';
import { endpointObject, endpointOf } from '../domain/webhook-endpoint.ts';
import { type Call, handled, type Route } from './route.ts';
import { deliveriesQuery } from './webhook-schemas.ts';

export const listEndpoints: Route = {
  method: 'GET',
  path: '/v1/webhook_endpoints',
  scope: Scopes.paymentsRead,
  handle: async ({ tools, caller, request }) => {
    const query = validateQuery(emptyQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { endpoints } = await tools.webhooks.readBook(caller);
    const data = endpoints.map((endpoint) => endpointObject(endpoint, caller));
    return found({ object: 'list', data, has_more: false });
  },
};

export const getEndpoint: Route = {
  method: 'GET',
  path: '/v1/webhook_endpoints/{id}',
  scope: Scopes.paymentsRead,
  handle: async (call) => {
    const { tools, caller, request, id } = call;
    const query = validateQuery(emptyQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const endpoint = endpointOf(await tools.webhooks.readBook(caller), id);
    return endpoint === undefined ? handled(call, { kind: 'not_found' }) : found(endpointObject(endpoint, caller));
  },
};

export const listDeliveries: Route = {
  method: 'GET',
  path: '/v1/webhook_endpoints/{id}/deliveries',
  scope: Scopes.paymentsRead,
  handle: list,
};

async function list(call: Call): Promise<Handled> {
  const { tools, caller, request, id } = call;
  const query = validateQuery(deliveriesQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  if (endpointOf(await tools.webhooks.readBook(caller), id) === undefined) return handled(call, { kind: 'not_found' });
  const { limit = DEFAULT_PAGE, starting_after: after } = query.value;
  // One of this endpoint, which is the caller's: what he was never shown is no place to begin at.
  if (after !== undefined && (await tools.webhooks.readDelivery(id, after)) === undefined) {
    const detail = 'starting_after must be the id of a delivery that a page of this list has shown.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const page = { limit: limit + 1, ...(after === undefined ? {} : { after }) };
  const deliveries = await tools.webhooks.listDeliveries(id, page);
  return found({
    object: 'list',
    data: deliveries.slice(0, limit).map(deliveryObject),
    has_more: deliveries.length > limit,
  });
}
