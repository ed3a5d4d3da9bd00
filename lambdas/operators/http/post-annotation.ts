import { type Call as CallBy, type Handled, refusal } from '../../http/authenticated-api.ts';
import { readJsonObject } from '../../http/json-body.ts';
import { keyedCounts, readKeyedRequest } from '../../http/keyed-request.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { type Parsed, valid } from '../../http/problems.ts';
import { defined } from '../../kernel/defined.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveAnnotationId } from '../ids.ts';
import { type AnnotatePayment, annotatePayment } from '../use/annotate-payment.ts';
import type { KeyedEffectTools } from '../use/keyed-effect.ts';
import { annotationBody } from './ledger-schemas.ts';
import { operatorAnswer } from './operator-answers.ts';

type Call = CallBy<KeyedEffectTools, Operator>;

export const postAnnotation: OperatorRoute<KeyedEffectTools> = {
  method: 'POST',
  path: '/v1/admin/payments/{id}/annotations',
  role: 'operator',
  handle,
};

async function handle(call: Call): Promise<Handled> {
  const parsed = readRequest(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, call.request);
  call.logFields.operationId = parsed.value.operationId;
  const outcome = await annotatePayment(call.tools, parsed.value);
  return {
    answer: operatorAnswer(outcome, call.request.requestId),
    outcome: outcome.kind,
    counts: keyedCounts(outcome),
  };
}

function readRequest({ tools: { digest }, ...call }: Call): Parsed<AnnotatePayment> {
  const { caller, request, id } = call;
  const read = readKeyedRequest(digest, request, annotationBody, readJsonObject, ['reason']);
  if (read.kind === 'refused') return read;
  const { key, fingerprint, body } = read.value;
  const path = `/v1/admin/payments/${id}/annotations`;
  const { reason, annotates } = body;
  return valid({
    cause: causedByOperator(call),
    by: caller,
    operationId: deriveAnnotationId(digest, { person: caller.person, method: 'POST', path, key }),
    fingerprint,
    payment: id,
    reason,
    ...defined({ annotates }),
  });
}
