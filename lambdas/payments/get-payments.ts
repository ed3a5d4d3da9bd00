import { listPayments } from '../app/list-payments.ts';
import { Scopes } from '../contract/api.ts';
import { type Handled, refusal } from '../runtime/http-api.ts';
import { askedPage, listHandled } from '../runtime/list-http.ts';
import { paymentsQuery } from '../runtime/list-schemas.ts';
import { validateQuery } from '../runtime/validate.ts';
import type { Call, Route } from './route.ts';

export const getPayments: Route = { method: 'GET', path: '/v1/payments', scope: Scopes.paymentsRead, handle: list };

async function list({ tools, caller, request }: Call): Promise<Handled> {
  const query = validateQuery(paymentsQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { status, reference, ...page } = query.value;
  const outcome = await listPayments(tools, caller, {
    ...(status === undefined ? {} : { status }),
    ...(reference === undefined ? {} : { reference }),
    ...askedPage(page),
  });
  return listHandled(outcome, 'payments', request);
}
