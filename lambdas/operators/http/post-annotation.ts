import type { Handled } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed } from '../../http/endpoint.ts';
import { keyedCounts } from '../../http/keyed-request.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { defined } from '../../kernel/defined.ts';
import { paymentPath } from '../../payments/http/payment-answers.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveAnnotationId } from '../ids.ts';
import { annotatePayment } from '../use/annotate-payment.ts';
import type { KeyedEffectTools } from '../use/keyed-effect.ts';
import { annotation } from './effect-answers.ts';
import { annotationBody } from './ledger-schemas.ts';
import { operatorAnswer } from './operator-answers.ts';

export const postAnnotation = keyed({
  path: '/v1/admin/payments/{id}/annotations',
  role: 'operator',
  body: annotationBody,
  notInFingerprint: ['reason'],
  handle: annotate,
  docs: {
    operationId: 'annotatePayment',
    tag: 'Ledger',
    summary: 'Annotate a payment',
    description:
      'Adds an operator’s explanation to a payment or to one of its transitions. Records cannot be changed or removed; annotate a wrong ' +
      'record instead. An annotation posts nothing and changes neither the status nor the amounts. The payment shows the number of its ' +
      'annotations, and its transitions show each annotation.',
    path: paymentPath,
    key: ['annotation', 'it is made once'],
    requests: {
      transition: {
        summary: 'Annotate a transition',
        value: { reason: 'Charged for the wrong order; see ticket 4711', annotates: 2 },
      },
    },
    answers: { 201: { description: 'The annotation.', schema: annotation } },
  },
});

async function annotate(call: KeyedCall<KeyedEffectTools, typeof annotationBody, Operator>): Promise<Handled> {
  const { tools, caller, request, id, key, fingerprint, body } = call;
  const path = `/v1/admin/payments/${id}/annotations`;
  const operationId = deriveAnnotationId(tools.digest, { person: caller.person, method: 'POST', path, key });
  call.logFields.operationId = operationId;
  const { reason, annotates, missing_charge: missingCharge } = body;
  const outcome = await annotatePayment(tools, {
    cause: causedByOperator(call),
    by: caller,
    operationId,
    fingerprint,
    payment: id,
    reason,
    ...defined({ annotates, missingCharge }),
  });
  return { answer: operatorAnswer(outcome, request.requestId), outcome: outcome.kind, counts: keyedCounts(outcome) };
}
