import { type Call, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { decisionOf } from '../../payments/domain/transition.ts';
import { parsePaymentId } from '../../payments/ids.ts';
import type { EffectStore } from '../../payments/use/effect-store.ts';
import { type PaymentChain, readOwnChain } from '../../payments/use/payment-chain.ts';
import { annotationObject } from '../domain/annotation.ts';
import { correctionObject } from '../domain/correction.ts';
import { decisionObject } from '../domain/operator-decision.ts';
import { parseOperatorEffectId } from '../ids.ts';
import { paymentIdQuery } from './ledger-schemas.ts';

interface ReadTools {
  readonly effects: EffectStore;
}

/** The effects of operators on a payment, in the order of their recording. */
interface Effects {
  readonly noun: 'correction' | 'decision' | 'annotation';
  readonly shown: (chain: PaymentChain) => readonly Readonly<Record<string, unknown>>[];
}

const CORRECTIONS: Effects = {
  noun: 'correction',
  shown: ({ transitions }) => transitions.filter(({ subject }) => subject?.kind === 'correction').map(correctionObject),
};

const DECISIONS: Effects = { noun: 'decision', shown: decisionsOf };

const ANNOTATIONS: Effects = {
  noun: 'annotation',
  shown: ({ transitions }) => transitions.filter(({ subject }) => subject?.kind === 'annotation').map(annotationObject),
};

/** Corrections, decisions and annotations by id and by payment. */
export const OPERATOR_EFFECT_ROUTES: readonly Route<ReadTools>[] = [CORRECTIONS, DECISIONS, ANNOTATIONS].flatMap(
  (effects): Route<ReadTools>[] => [
    {
      method: 'GET',
      path: `/v1/${effects.noun}s`,
      scope: Scopes.ledgerRead,
      handle: (call) => list(call, effects),
    },
    {
      method: 'GET',
      path: `/v1/${effects.noun}s/{id}`,
      scope: Scopes.ledgerRead,
      handle: (call) => show(call, effects),
    },
  ],
);

/** The record of the operation names the payment. It does not expire. */
async function show({ tools, caller, request, id }: Call<ReadTools>, { noun, shown }: Effects): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const operationId = parseOperatorEffectId(id);
  const record = operationId === undefined ? undefined : await tools.effects.readEffect(operationId);
  const chain = await readOwnChain(tools.effects, caller, record?.paymentId);
  const effect = chain === undefined ? undefined : shown(chain).find((each) => each['id'] === id);
  return effect === undefined ? refusal(problem('not_found', `There is no such ${noun}.`), request) : found(effect);
}

async function list({ tools, caller, request }: Call<ReadTools>, { shown }: Effects): Promise<Handled> {
  const query = validateQuery(paymentIdQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const chain = await readOwnChain(tools.effects, caller, parsePaymentId(query.value.payment));
  if (chain === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  return found({ object: 'list', data: shown(chain), has_more: false });
}

/** Later transitions of a change repeat its decision, so only the first one counts. */
function decisionsOf({ transitions }: PaymentChain): readonly Readonly<Record<string, unknown>>[] {
  const shown = new Map<string, Readonly<Record<string, unknown>>>();
  for (const transition of transitions) {
    const decision = decisionOf(transition);
    if (decision === undefined || shown.has(decision.decisionId)) continue;
    shown.set(decision.decisionId, decisionObject(transition, decision));
  }
  return [...shown.values()];
}
