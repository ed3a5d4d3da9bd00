import { type Call, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { parsePaymentId, paymentOfPart, storedOperationId } from '../../kernel/ids.ts';
import { begunAtMs } from '../domain/change.ts';
import { holdChangeObject, refundObject } from '../domain/change-answer.ts';
import { disputeObject, type HoldChange } from '../domain/payment.ts';
import { type PaymentChain, readOwnChain } from '../use/payment-chain.ts';
import type { PaymentStore } from '../use/payment-store.ts';

interface PartTools {
  readonly store: PaymentStore;
}

/** Objects of one kind of a payment, in the order in which they became known. */
interface Parts {
  readonly noun: string;
  readonly shown: (chain: PaymentChain) => readonly Readonly<Record<string, unknown>>[];
}

const REFUNDS: Parts = {
  noun: 'refund',
  shown: ({ state }) => [...state.refunds.values()].map((refund) => refundObject(refund, state.payment)),
};

const DISPUTES: Parts = {
  noun: 'dispute',
  shown: ({ state }) => [...state.disputes.values()].map((dispute) => disputeObject(dispute, state.payment)),
};

const CAPTURES: Parts = { noun: 'capture', shown: (chain) => holdChangesOf(chain, 'capture') };

const CANCELLATIONS: Parts = { noun: 'cancellation', shown: (chain) => holdChangesOf(chain, 'void') };

/** The parts of payments by id and by payment. */
export const PART_ROUTES: readonly Route<PartTools>[] = [REFUNDS, DISPUTES, CAPTURES, CANCELLATIONS].flatMap(
  (parts): Route<PartTools>[] => [
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
  ],
);

function holdChangesOf({ state, transitions }: PaymentChain, kind: HoldChange['kind']) {
  return [...state.holdChanges.values()]
    .filter((change) => change.kind === kind)
    .map((change) => {
      const begun = begunAtMs(transitions, storedOperationId(change.operationId));
      return holdChangeObject(change, state, begun ?? state.payment.createdAtMs);
    });
}

/** The id contains its payment's id, so no index is needed. */
async function show({ tools, caller, request, id }: Call<PartTools>, { noun, shown }: Parts): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const chain = await readOwnChain(tools.store, caller, paymentOfPart(id));
  const part = chain === undefined ? undefined : shown(chain).find((each) => each['id'] === id);
  return part === undefined ? refusal(problem('not_found', `There is no such ${noun}.`), request) : found(part);
}

async function list({ tools, caller, request, id }: Call<PartTools>, { shown }: Parts): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const chain = await readOwnChain(tools.store, caller, parsePaymentId(id));
  if (chain === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  return found({ object: 'list', data: shown(chain), has_more: false });
}
