import type * as z from 'zod';
import { type Call as CallBy, type Handled, refusal } from '../../http/authenticated-api.ts';
import { readJsonObject } from '../../http/json-body.ts';
import { keyedCounts, readDryRun, readKeyedRequest } from '../../http/keyed-request.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { type Parsed, valid } from '../../http/problems.ts';
import { defined } from '../../kernel/defined.ts';
import { storedOperationId } from '../../kernel/ids.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveDecisionId } from '../ids.ts';
import { type DecidePayment, type DecisionTools, decidePayment, previewDecision } from '../use/decide-payment.ts';
import { previewHandled } from './dry-run.ts';
import { decisionBody } from './ledger-schemas.ts';
import { operatorAnswer } from './operator-answers.ts';

type Call = CallBy<DecisionTools, Operator>;

export const postDecision: OperatorRoute<DecisionTools> = {
  method: 'POST',
  path: '/v1/admin/payments/{id}/resolve',
  role: 'operator',
  handle,
};

async function handle(call: Call): Promise<Handled> {
  const dry = readDryRun(call.request, decisionBody);
  if (dry !== undefined) return preview(call, dry);
  const parsed = readRequest(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, call.request);
  call.logFields.operationId = parsed.value.operationId;
  const outcome = await decidePayment(call.tools, parsed.value);
  return {
    answer: operatorAnswer(outcome, call.request.requestId),
    outcome: outcome.kind,
    counts: keyedCounts(outcome),
  };
}

async function preview({ tools, caller, request, id }: Call, dry: Parsed<Body>): Promise<Handled> {
  if (dry.kind === 'refused') return refusal(dry.problem, request);
  const outcome = await previewDecision(tools, { payment: id, ...requestedDecision(dry.value, caller) });
  if (outcome.kind === 'preview') return previewHandled(outcome);
  return { answer: operatorAnswer(outcome, request.requestId), outcome: outcome.kind, counts: [] };
}

type Body = z.infer<typeof decisionBody>;

function requestedDecision(
  { outcome, change, charge_id: chargeId, amount: takenMinor, override = false, reason }: Body,
  by: Operator,
): Pick<DecidePayment, 'asked' | 'reason' | 'by'> {
  const asked = {
    kind: 'decision' as const,
    outcome,
    ...(change === undefined ? {} : { change: storedOperationId(change) }),
    ...defined({ chargeId, takenMinor }),
    ...(override ? { override } : {}),
  };
  return { asked, reason, by };
}

function readRequest({ tools: { digest }, ...call }: Call): Parsed<DecidePayment> {
  const { caller, request, id } = call;
  const read = readKeyedRequest(digest, request, decisionBody, readJsonObject, ['reason']);
  if (read.kind === 'refused') return read;
  const { key, fingerprint, body } = read.value;
  const path = `/v1/admin/payments/${id}/resolve`;
  return valid({
    cause: causedByOperator(call),
    operationId: deriveDecisionId(digest, { person: caller.person, method: 'POST', path, key }),
    fingerprint,
    payment: id,
    ...requestedDecision(body, caller),
  });
}
