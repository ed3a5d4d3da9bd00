import { found, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { problem } from '../../http/problems.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { paymentObject } from '../domain/payment.ts';
import type { PaymentStore } from '../use/payment-store.ts';
import { readPayment } from '../use/read-payment.ts';
import { paymentPath } from './payment-answers.ts';
import { payment } from './payment-objects.ts';

export const getPayment = reading({
  path: '/v1/payments/{id}',
  scope: Scopes.paymentsRead,
  role: 'operator',
  handle: async ({ tools, caller, id, request }: ReadingCall<{ readonly store: PaymentStore }>) => {
    const outcome = await readPayment(tools.store, caller, id);
    // A missing payment and a payment of another tenant or mode get the same response, which does not repeat the id.
    if (outcome.kind === 'not_found') return refusal(problem('not_found', 'There is no such payment.'), request);
    return found(paymentObject(outcome.payment, outcome.details));
  },
  docs: {
    operationId: 'getPayment',
    tag: 'Payments',
    summary: 'Retrieve a payment',
    description: 'Returns the current state, which includes every change that an earlier response reported.',
    path: paymentPath,
    answers: { 200: { description: 'The payment.', schema: payment } },
  },
});
