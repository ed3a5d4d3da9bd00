import { type Call, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { storedOperationId } from '../../kernel/ids.ts';
import { begunAtMs } from '../domain/change.ts';
import { holdChangeObject, refundObject } from '../domain/change-answer.ts';
import { disputeObject, type HoldChange } from '../domain/payment.ts';
import { parsePaymentId, paymentOfPart } from '../ids.ts';
import { type PaymentChain, readOwnChain } from '../use/payment-chain.ts';
import type { PaymentStore } from '../use/payment-store.ts';

interface PartTools {
  readonly store: PaymentStore;
}

export type Part = 'refund' | 'dispute' | 'capture' | 'cancellation';

/** For each kind of part, a function that renders the parts of a payment, in the order in which they became known. */
const SHOWN: Readonly<Record<Part, (chain: PaymentChain) => readonly Readonly<Record<string, unknown>>[]>> = {
  refund: ({ state }) => [...state.refunds.values()].map((refund) => refundObject(refund, state.payment)),
  dispute: ({ state }) => [...state.disputes.values()].map((dispute) => disputeObject(dispute, state.payment)),
  capture: (chain) => holdChangesOf(chain, 'capture'),
  cancellation: (chain) => holdChangesOf(chain, 'void'),
};

function holdChangesOf({ state, transitions }: PaymentChain, kind: HoldChange['kind']) {
  return [...state.holdChanges.values()]
    .filter((change) => change.kind === kind)
    .map((change) => {
      const begun = begunAtMs(transitions, storedOperationId(change.operationId));
      return holdChangeObject(change, state, begun ?? state.payment.createdAtMs);
    });
}

/** Shows one part of a payment. Its id contains the payment's id, so no index is needed. */
export async function showPart({ tools, caller, request, id }: Call<PartTools>, noun: Part): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const chain = await readOwnChain(tools.store, caller, paymentOfPart(id));
  const part = chain === undefined ? undefined : SHOWN[noun](chain).find((each) => each['id'] === id);
  return part === undefined ? refusal(problem('not_found', `There is no such ${noun}.`), request) : found(part);
}

export async function listParts({ tools, caller, request, id }: Call<PartTools>, noun: Part): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const chain = await readOwnChain(tools.store, caller, parsePaymentId(id));
  if (chain === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  return found({ object: 'list', data: SHOWN[noun](chain), has_more: false });
}
