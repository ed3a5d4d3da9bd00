import { type Call, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { paymentObject } from '../domain/payment.ts';
import type { PaymentStore } from '../use/payment-store.ts';
import { readPayment } from '../use/read-payment.ts';

interface ReadTools {
  readonly store: PaymentStore;
}

const PATH = '/v1/payments/{id}';

export const getPayment: Route<ReadTools> = {
  method: 'GET',
  path: PATH,
  scope: Scopes.paymentsRead,
  role: 'operator',
  handle: show,
};

export const getTransitions: Route<ReadTools> = {
  method: 'GET',
  path: `${PATH}/transitions`,
  scope: Scopes.paymentsRead,
  handle: async (call) => (await import('./list-transitions.ts')).listOfTransitions(call),
};

async function show(call: Call<ReadTools>): Promise<Handled> {
  const query = validateQuery(emptyQuery, call.request.query);
  if (query.kind === 'refused') return refusal(query.problem, call.request);
  const outcome = await readPayment(call.tools.store, call.caller, call.id);
  if (outcome.kind === 'not_found') return noSuchPayment(call);
  return found(paymentObject(outcome.payment, outcome.details));
}

/** Returns the answer for a missing payment and for a payment of another tenant or mode. It does not contain the id. */
function noSuchPayment(call: Call<ReadTools>): Handled {
  return refusal(problem('not_found', 'There is no such payment.'), call.request);
}
