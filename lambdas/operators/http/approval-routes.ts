import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { readOptionalJsonObject } from '../../http/json-body.ts';
import { keyedCounts } from '../../http/keyed-request.ts';
import { DEFAULT_PAGE, pageLimit } from '../../http/lists.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateBody, validateQuery } from '../../http/validate.ts';
import type { Problem } from '../../kernel/answer.ts';
import { defined } from '../../kernel/defined.ts';
import type { Operator } from '../../tenants/operators.ts';
import { APPROVAL_ID, approvalObject } from '../domain/approval.ts';
import { type ApprovalOutcome, type ApprovalRefusal, approve, reject, type Verdict } from '../use/approve.ts';
import type { DecisionTools } from '../use/decide-payment.ts';
import { operatorAnswer } from './operator-answers.ts';

type Call = CallBy<DecisionTools, Operator>;

export const approvalsQuery = z.strictObject({
  limit: pageLimit('approvals'),
  starting_after: z
    .string()
    .regex(APPROVAL_ID, 'must be the id of an approval')
    .optional()
    .meta({ description: 'The `id` of the last approval of the previous page.' }),
});

export const verdictBody = z.strictObject({}).meta({ id: 'Verdict' });

/** The requests of operators that wait or waited for a second person. */
export const APPROVAL_ROUTES: readonly OperatorRoute<DecisionTools>[] = [
  { method: 'GET', path: '/v1/admin/approvals', role: 'viewer', handle: listApprovals },
  { method: 'GET', path: '/v1/admin/approvals/{id}', role: 'viewer', handle: showApproval },
  {
    method: 'POST',
    path: '/v1/admin/approvals/{id}/approve',
    role: 'approver',
    handle: (call) => give(call, approve),
  },
  { method: 'POST', path: '/v1/admin/approvals/{id}/reject', role: 'approver', handle: (call) => give(call, reject) },
];

async function listApprovals({ tools, request }: Call): Promise<Handled> {
  const query = validateQuery(approvalsQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { limit = DEFAULT_PAGE, starting_after: after } = query.value;
  const page = { limit: limit + 1, ...defined({ after }) };
  const approvals = await tools.effects.listApprovals(page);
  const nowMs = tools.clock.nowMs();
  const data = approvals.slice(0, limit).map((approval) => approvalObject(approval, nowMs));
  return found({ object: 'list', data, has_more: approvals.length > limit });
}

async function showApproval({ tools, request, id }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const approval = await tools.effects.readApproval(id);
  if (approval === undefined) return refusal(NOT_FOUND, request);
  return found(approvalObject(approval, tools.clock.nowMs()));
}

function isRefusal(outcome: ApprovalOutcome): outcome is ApprovalRefusal {
  return outcome.kind in REFUSALS;
}

const NOT_FOUND = problem('not_found', 'There is no such approval.');
const REFUSALS: Readonly<Record<ApprovalRefusal['kind'], Problem>> = {
  approval_not_found: NOT_FOUND,
  own_approval: problem('own_approval', 'You made this request. Another person must approve or reject it.'),
  approval_ended: problem('approval_ended', 'The approval has ended otherwise. Read it.'),
  approval_expired: problem('approval_ended', 'The approval has expired. Send a new request.'),
  approval_outdated: problem(
    'approval_outdated',
    'The payment has changed, so that the request would now have another effect than the approval shows. Send a new request.',
  ),
  reason_erased: problem(
    'approval_outdated',
    'The reason was erased with the data of the payment. Send a new request.',
  ),
};

/** The request states the result of one approval, so repeating it has the same effect and needs no idempotency key. */
async function give(
  call: Call,
  verdict: (tools: DecisionTools, verdict: Verdict) => Promise<ApprovalOutcome>,
): Promise<Handled> {
  const { tools, request, id, caller } = call;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const sent = readOptionalJsonObject(request);
  if (sent.kind === 'refused') return refusal(sent.problem, request);
  const body = validateBody(verdictBody, sent.value);
  if (body.kind === 'refused') return refusal(body.problem, request);
  const outcome = await verdict(tools, { id, by: caller, cause: causedByOperator(call) });
  if (isRefusal(outcome)) return refusal(REFUSALS[outcome.kind], request);
  const answer = outcome.kind === 'replay' ? outcome.answer : operatorAnswer(outcome, request.requestId);
  return { answer, outcome: outcome.kind, counts: keyedCounts(outcome) };
}
