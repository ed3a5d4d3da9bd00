import { type Call, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { parsePaymentId, paymentOfPart } from '../../kernel/ids.ts';
import { refundObject } from '../domain/change-answer.ts';
import { disputeObject } from '../domain/payment.ts';
import type { PaymentState } from '../domain/payment-state.ts';
import { readOwnChain } from '../use/payment-chain.ts';
import type { PaymentStore } from '../use/payment-store.ts';

interface ReadTools {
  readonly store: PaymentStore;
}

/** The refunds or the disputes of a payment: of all its charges, in the order in which they became known. */
interface Parts {
  readonly noun: 'refund' | 'dispute';
  readonly shown: (state: PaymentState) => readonly Readonly<Record<string, unknown>>[];
}

const REFUNDS: Parts = {
  noun: 'refund',
  shown: ({ refunds, payment }) => [...refunds.values()].map((refund) => refundObject(refund, payment)),
};

const DISPUTES: Parts = {
  noun: 'dispute',
  shown: ({ disputes, payment }) => [...disputes.values()].map((dispute) => disputeObject(dispute, payment)),
};

/** Refunds and disputes by id and by payment. */
export const PART_ROUTES: readonly Route<ReadTools>[] = [REFUNDS, DISPUTES].flatMap((parts): Route<ReadTools>[] => [
  {
    method: 'GET',
    path: `/v1/payments/{id}/${parts.noun}s`,
    scope: Scopes.paymentsRead,
    handle: (call) => list(call, parts),
  },
  {
    method: 'GET',
    path: `/v1/${parts.noun}s/{id}`,
    scope: Scopes.paymentsRead,
    handle: (call) => show(call, parts),
  },
]);

/** The id contains its payment's id, so no index is needed. */
async function show({ tools, caller, request, id }: Call<ReadTools>, { noun, shown }: Parts): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const chain = await readOwnChain(tools.store, caller, paymentOfPart(id));
  const part = chain === undefined ? undefined : shown(chain.state).find((each) => each['id'] === id);
  return part === undefined ? refusal(problem('not_found', `There is no such ${noun}.`), request) : found(part);
}

async function list({ tools, caller, request, id }: Call<ReadTools>, { shown }: Parts): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const chain = await readOwnChain(tools.store, caller, parsePaymentId(id));
  if (chain === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  return found({ object: 'list', data: shown(chain.state), has_more: false });
}
