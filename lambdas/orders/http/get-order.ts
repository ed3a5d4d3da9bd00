import { found, type Handled, refusal } from '../../http/http-api.ts';
import { problem } from '../../http/problems.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { emptyQuery } from '../../payments/http/payment-schemas.ts';
import { orderObject } from '../domain/order-answer.ts';
import { readOrder } from '../use/read-order.ts';
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
