import * as z from 'zod';
import { found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading, type TenantEndpoint } from '../../http/endpoint.ts';
import { problem } from '../../http/problems.ts';
import { freeText } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { decisionOf } from '../../payments/domain/transition.ts';
import { parsePaymentId } from '../../payments/ids.ts';
import type { EffectStore } from '../../payments/use/effect-store.ts';
import { type PaymentChain, readOwnChain } from '../../payments/use/payment-chain.ts';
import { annotationObject } from '../domain/annotation.ts';
import { correctionObject } from '../domain/correction.ts';
import { decisionObject } from '../domain/operator-decision.ts';
import { parseOperatorEffectId } from '../ids.ts';
import type { KeyRecordTools } from '../use/read-key-record.ts';
import {
  annotation,
  annotationsOfPayment,
  correction,
  correctionsOfPayment,
  decision,
  decisionsOfPayment,
} from './effect-answers.ts';

interface ReadTools {
  readonly effects: EffectStore;
  readonly timeline: Pick<KeyRecordTools, 'effects'>;
}

/** `shown` returns the effects in the order in which they were recorded. */
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

const scope = Scopes.ledgerRead;

const paymentIdQuery = z.strictObject({
  payment: freeText(100).meta({
    description: 'The id of the payment.',
    example: 'pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp',
  }),
});

type ListCall = ReadingCall<ReadTools, typeof paymentIdQuery>;
type ShowCall = ReadingCall<ReadTools>;

export const OPERATOR_EFFECT_ROUTES: readonly TenantEndpoint<ReadTools>[] = [
  reading({
    path: '/v1/corrections',
    scope,
    query: paymentIdQuery,
    handle: (call: ListCall) => list(call, CORRECTIONS),
    docs: {
      operationId: 'listCorrectionsOfPayment',
      tag: 'Ledger',
      summary: 'List the corrections of a payment',
      description: 'Lists all corrections of the payment, oldest first.',
      answers: { 200: { description: 'The corrections.', schema: correctionsOfPayment } },
    },
  }),
  reading({
    path: '/v1/corrections/{id}',
    scope,
    handle: (call: ShowCall) => show(call, CORRECTIONS),
    docs: {
      operationId: 'getCorrection',
      tag: 'Ledger',
      summary: 'Retrieve a correction',
      description: 'A correction never changes.',
      path: z.object({ id: correction.shape.id.meta({ description: 'The id of the correction.' }) }),
      answers: { 200: { description: 'The correction.', schema: correction } },
    },
  }),
  reading({
    path: '/v1/decisions',
    scope,
    query: paymentIdQuery,
    handle: (call: ListCall) => list(call, DECISIONS),
    docs: {
      operationId: 'listDecisionsOfPayment',
      tag: 'Ledger',
      summary: 'List the decisions about a payment',
      description: 'Lists all decisions about the payment, oldest first.',
      answers: { 200: { description: 'The decisions.', schema: decisionsOfPayment } },
    },
  }),
  reading({
    path: '/v1/decisions/{id}',
    scope,
    handle: (call: ShowCall) => show(call, DECISIONS),
    docs: {
      operationId: 'getDecision',
      tag: 'Ledger',
      summary: 'Retrieve a decision',
      description: 'A decision never changes.',
      path: z.object({ id: decision.shape.id.meta({ description: 'The id of the decision.' }) }),
      answers: { 200: { description: 'The decision.', schema: decision } },
    },
  }),
  reading({
    path: '/v1/annotations',
    scope,
    query: paymentIdQuery,
    handle: (call: ListCall) => list(call, ANNOTATIONS),
    docs: {
      operationId: 'listAnnotationsOfPayment',
      tag: 'Ledger',
      summary: 'List the annotations of a payment',
      description: 'Lists all annotations of the payment, oldest first.',
      answers: { 200: { description: 'The annotations.', schema: annotationsOfPayment } },
    },
  }),
  reading({
    path: '/v1/annotations/{id}',
    scope,
    handle: (call: ShowCall) => show(call, ANNOTATIONS),
    docs: {
      operationId: 'getAnnotation',
      tag: 'Ledger',
      summary: 'Retrieve an annotation',
      description: 'An annotation never changes.',
      path: z.object({ id: annotation.shape.id.meta({ description: 'The id of the annotation.' }) }),
      answers: { 200: { description: 'The annotation.', schema: annotation } },
    },
  }),
];

/** The payment is found through the operation's record, which does not expire. */
async function show({ tools, caller, request, id }: ShowCall, { noun, shown }: Effects): Promise<Handled> {
  const operationId = parseOperatorEffectId(id);
  const record = operationId === undefined ? undefined : await tools.timeline.effects.readEffect(operationId);
  const chain = await readOwnChain(tools.effects, caller, record?.paymentId);
  const effect = chain === undefined ? undefined : shown(chain).find((each) => each['id'] === id);
  return effect === undefined ? refusal(problem('not_found', `There is no such ${noun}.`), request) : found(effect);
}

async function list({ tools, caller, request, query }: ListCall, { shown }: Effects): Promise<Handled> {
  const chain = await readOwnChain(tools.effects, caller, parsePaymentId(query.payment));
  if (chain === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  return found({ object: 'list', data: shown(chain), has_more: false });
}

/** Later transitions of a change repeat the change's decision, so only the first one is used. */
function decisionsOf({ transitions }: PaymentChain): readonly Readonly<Record<string, unknown>>[] {
  const shown = new Map<string, Readonly<Record<string, unknown>>>();
  for (const transition of transitions) {
    const made = decisionOf(transition);
    if (made === undefined || shown.has(made.decisionId)) continue;
    shown.set(made.decisionId, decisionObject(transition, made));
  }
  return [...shown.values()];
}
