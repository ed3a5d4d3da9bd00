import { readOrder } from '../app/read-order.ts';
import { Scopes } from '../contract/api.ts';
import { orderObject } from '../core/order-answer.ts';
import { found, type Handled, refusal } from '../runtime/http-api.ts';
import { emptyQuery } from '../runtime/payment-schemas.ts';
import { problem } from '../runtime/problems.ts';
import { validateQuery } from '../runtime/validate.ts';
import type { Call, Route } from './route.ts';

export const getOrder: Route = { method: 'GET', path: '/v1/orders/{id}', scope: Scopes.paymentsRead, handle };

async function handle({ tools, caller, id, request }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const chain = await readOrder(tools.orders, caller, id);
  // The same for one that does not exist and for one of another tenant or mode: the id is not repeated.
  if (chain === undefined) return refusal(problem('not_found', 'There is no such order.'), request);
  return found(orderObject(chain.order, chain.details));
}
