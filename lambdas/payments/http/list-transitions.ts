import * as z from 'zod';
import { found, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { DEFAULT_PAGE, pageLimit } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { wholeNumber } from '../../http/validate.ts';
import { causeObject } from '../../kernel/cause.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import { holdChangeNoun } from '../domain/change-answer.ts';
import type { Payment, Subject } from '../domain/payment.ts';
import { postingObject } from '../domain/posting.ts';
import type { Transition } from '../domain/transition.ts';
import { partId } from '../ids.ts';
import type { PaymentStore } from '../use/payment-store.ts';
import { listTransitions } from '../use/read-payment.ts';
import { paymentPath, transitionList } from './payment-answers.ts';

/** Largest sequence number: the sort key of a transition has six digits. */
export const MAX_SEQUENCE = 999_999;

export const transitionPageQuery = z.strictObject({
  limit: pageLimit('transitions'),
  starting_after: wholeNumber(
    0,
    MAX_SEQUENCE,
    'The sequence of the last transition of the previous page. The page begins after it.',
  ),
});

type Tools = { readonly store: PaymentStore };

export const getTransitions = reading({
  path: '/v1/payments/{id}/transitions',
  scope: Scopes.paymentsRead,
  query: transitionPageQuery,
  handle: async ({ tools, caller, id, request, query }: ReadingCall<Tools, typeof transitionPageQuery>) => {
    const { limit = DEFAULT_PAGE, starting_after: afterSequence = 0 } = query;
    const outcome = await listTransitions(tools.store, caller, id, { afterSequence, limit });
    if (outcome.kind === 'not_found') return refusal(problem('not_found', 'There is no such payment.'), request);
    return found({ object: 'list', data: outcome.transitions.map(transitionObject), has_more: outcome.hasMore });
  },
  docs: {
    operationId: 'listTransitions',
    tag: 'Payments',
    summary: 'List the transitions of a payment',
    description: 'Lists the transitions with their postings, oldest first.',
    path: paymentPath,
    answers: { 200: { description: 'A page of transitions.', schema: transitionList } },
  },
});

export function transitionObject({
  sequence,
  type,
  occurredAtMs,
  cause,
  payment,
  subject,
  postings,
}: Transition): Record<string, unknown> {
  return {
    sequence,
    type,
    created: Math.floor(occurredAtMs / 1000),
    caused_by: causeObject(cause),
    subject: subject === undefined ? null : subjectObject(subject, payment),
    postings: postings.map(postingObject),
  };
}

function subjectObject(subject: Subject, { id }: Payment): Record<string, unknown> {
  switch (subject.kind) {
    case 'refund':
      return { object: 'refund', id: partId('refund', id, subject.refundId), reason: subject.reason ?? null };
    case 'capture':
    case 'void':
      return { object: holdChangeNoun(subject), id: subject.operationId, reason: subject.reason ?? null };
    case 'dispute':
      return { object: 'dispute', id: partId('dispute', id, subject.disputeId), reason: null };
    case 'stray_charge':
      return { object: 'stray_charge', id: subject.chargeId, reason: null };
    case 'correction':
      return {
        object: 'correction',
        id: subject.correctionId,
        reason: subject.reason ?? null,
        ...defined({ reverses: subject.reverses }),
      };
    case 'decision':
      return { object: 'decision', id: subject.decisionId, reason: subject.reason ?? null };
    case 'annotation':
      return { object: 'annotation', id: subject.annotationId, reason: subject.reason ?? null };
  }
}
