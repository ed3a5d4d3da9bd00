import { type Call, type Handled, type Route, refusal } from '../../http/http-api.ts';
import { askedPage, listHandled } from '../../http/list-http.ts';
import { paymentsQuery } from '../../http/list-schemas.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import { type ListPaymentsTools, listPayments } from '../use/list-payments.ts';

export const getPayments: Route<ListPaymentsTools, Caller> = {
  method: 'GET',
  path: '/v1/payments',
  scope: Scopes.paymentsRead,
  handle: list,
};

async function list({ tools, caller, request }: Call<ListPaymentsTools, Caller>): Promise<Handled> {
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
