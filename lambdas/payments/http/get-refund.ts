import { type Call, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { parsePaymentId, parseRefundId } from '../../kernel/ids.ts';
import type { Owner } from '../../tenants/owners.ts';
import { refundObject } from '../domain/change-answer.ts';
import { type PaymentChain, readChain } from '../use/payment-chain.ts';
import type { PaymentStore } from '../use/payment-store.ts';

interface ReadTools {
  readonly store: PaymentStore;
}

export const getRefund: Route<ReadTools> = {
  method: 'GET',
  path: '/v1/refunds/{id}',
  scope: Scopes.paymentsRead,
  handle: show,
};

export const getRefunds: Route<ReadTools> = {
  method: 'GET',
  path: '/v1/payments/{id}/refunds',
  scope: Scopes.paymentsRead,
  handle: list,
};

/** A refund id contains its payment's id, so no index is needed. */
async function show(call: Call<ReadTools>): Promise<Handled> {
  const query = validateQuery(emptyQuery, call.request.query);
  if (query.kind === 'refused') return refusal(query.problem, call.request);
  const ids = parseRefundId(call.id);
  const chain = ids === undefined ? undefined : await ownChain(call, ids.paymentId);
  const refund = chain?.state.refunds.get(call.id);
  if (chain === undefined || refund === undefined) {
    return refusal(problem('not_found', 'There is no such refund.'), call.request);
  }
  return found(refundObject(refund, chain.state.payment));
}

/** The refunds of the payment's own charge in the order in which they became known, with those made at the processor. */
async function list(call: Call<ReadTools>): Promise<Handled> {
  const query = validateQuery(emptyQuery, call.request.query);
  if (query.kind === 'refused') return refusal(query.problem, call.request);
  const chain = await ownChain(call, call.id);
  if (chain === undefined) return refusal(problem('not_found', 'There is no such payment.'), call.request);
  const { refunds, payment } = chain.state;
  const own = [...refunds.values()].filter(({ chargeId }) => chargeId === payment.chargeId);
  return found({ object: 'list', data: own.map((refund) => refundObject(refund, payment)), has_more: false });
}

/** @returns undefined when there is no such payment, or it belongs to another tenant or mode */
async function ownChain({ tools, caller }: Call<ReadTools>, id: string): Promise<PaymentChain | undefined> {
  const paymentId = parsePaymentId(id);
  const chain = paymentId === undefined ? undefined : await readChain(tools.store, paymentId);
  return chain !== undefined && belongsTo(chain, caller) ? chain : undefined;
}

function belongsTo({ first: { payment } }: PaymentChain, { tenantId, mode }: Owner): boolean {
  return payment.tenantId === tenantId && payment.mode === mode;
}
