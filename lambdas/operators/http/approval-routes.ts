import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type OperatorEndpoint, type ReadingCall, reading, type SettingCall, setting } from '../../http/endpoint.ts';
import { keyedCounts } from '../../http/keyed-request.ts';
import { pageLimit, SMALL_PAGE } from '../../http/lists.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import type { Problem } from '../../kernel/answer.ts';
import { defined } from '../../kernel/defined.ts';
import { changeOutcomeAnswer } from '../../payments/http/change-outcome-answer.ts';
import type { Operator } from '../../tenants/operators.ts';
import { APPROVAL_ID, approvalObject, REJECTION_REASONS } from '../domain/approval.ts';
import {
  type ApprovalOutcome,
  type ApprovalRefusal,
  type ApprovalTools,
  approve,
  reject,
  type Verdict,
} from '../use/approve.ts';
import { approval, approvalList, approvalPath, NOT_AS_SHOWN } from './answer-schemas.ts';
import { operatorAnswer } from './operator-answers.ts';

const approvalsQuery = z.strictObject({
  limit: pageLimit('approvals', SMALL_PAGE),
  starting_after: z
    .string()
    .regex(APPROVAL_ID, 'must be the id of an approval')
    .optional()
    .meta({ description: 'The `id` of the last approval of the previous page.' }),
});

const verdictBody = z.strictObject({}).meta({ id: 'Verdict' });

const rejectionBody = z
  .strictObject({
    reason: z
      .enum(REJECTION_REASONS, `must be one of ${REJECTION_REASONS.join(', ')}`)
      .optional()
      .meta({ description: 'Kept in the activity log.' }),
  })
  .meta({ id: 'Rejection' });

type VerdictCall<Body extends typeof verdictBody | typeof rejectionBody = typeof verdictBody> = SettingCall<
  ApprovalTools,
  Body,
  Operator
>;

const getApprovals = reading({
  path: '/v1/admin/approvals',
  role: 'viewer',
  query: approvalsQuery,
  handle: listApprovals,
  docs: {
    operationId: 'listApprovals',
    tag: 'Operators',
    summary: 'List approvals',
    description:
      'Requests above the deployment’s limit (`approvalAbove`) that need, or needed, the approval of a second person: corrections, decisions, refunds, captures and cancellations for all tenants.',
    answers: { 200: { description: 'A page of approvals.', schema: approvalList } },
  },
});

async function listApprovals(call: ReadingCall<ApprovalTools, typeof approvalsQuery, Operator>): Promise<Handled> {
  const { tools, query } = call;
  const { limit = SMALL_PAGE, starting_after: after } = query;
  const approvals = await tools.effects.listApprovals({ limit: limit + 1, ...defined({ after }) });
  const nowMs = tools.clock.nowMs();
  const data = approvals.slice(0, limit).map((each) => approvalObject(each, nowMs));
  const above = tools.approvals?.aboveMinor ?? null;
  return found({ object: 'list', data, has_more: approvals.length > limit, approval_above: above });
}

const getApproval = reading({
  path: '/v1/admin/approvals/{id}',
  role: 'viewer',
  handle: showApproval,
  docs: {
    operationId: 'getApproval',
    tag: 'Operators',
    summary: 'Retrieve an approval',
    description: 'A strongly consistent read.',
    path: approvalPath,
    answers: { 200: { description: 'The approval.', schema: approval } },
  },
});

async function showApproval({ tools, request, id }: CallBy<ApprovalTools, Operator>): Promise<Handled> {
  const shown = await tools.effects.readApproval(id);
  if (shown === undefined) return refusal(NOT_FOUND, request);
  return found(approvalObject(shown, tools.clock.nowMs()));
}

const postApproval = setting({
  method: 'POST',
  path: '/v1/admin/approvals/{id}/approve',
  role: 'approver',
  body: verdictBody,
  optionalBody: true,
  handle: (call: VerdictCall) => give(call, approve),
  docs: {
    operationId: 'approveRequest',
    tag: 'Operators',
    summary: 'Approve the request of another operator',
    description:
      'Executes the request exactly once. Payonce checks it again against the current payment, and can refuse it like a new request. The person who made the request cannot approve it. ' +
      'An approval ends only once, so a repeated request gets the same response and needs no idempotency key.',
    path: approvalPath,
    requests: { approve: { summary: 'No fields: send an empty object', value: {} } },
    answers: { 200: { description: 'The approval. Its request was executed.', schema: approval } },
    problems: [
      'own_approval',
      'approval_ended',
      'approval_outdated',
      'already_reversed',
      'payment_not_in_review',
      'change_not_undecided',
      ...NOT_AS_SHOWN,
      'payment_not_refundable',
      'payment_not_capturable',
      'payment_not_cancelable',
      'change_in_progress',
      'too_many_refunds',
      'amount_exceeds_left',
      'processor_unavailable',
    ],
  },
});

const postRejection = setting({
  method: 'POST',
  path: '/v1/admin/approvals/{id}/reject',
  role: 'approver',
  body: rejectionBody,
  optionalBody: true,
  handle: (call: VerdictCall<typeof rejectionBody>) =>
    give(call, (tools, verdict) => reject(tools, { ...verdict, ...defined({ reason: call.body.reason }) })),
  docs: {
    operationId: 'rejectRequest',
    tag: 'Operators',
    summary: 'Reject the request of another operator',
    description:
      'The request has no effect and can no longer be approved. A repeated rejection gets the same response.',
    path: approvalPath,
    requests: { reject: { summary: 'With a reason', value: { reason: 'wrong_amount' } } },
    answers: { 200: { description: 'The rejected approval.', schema: approval } },
    problems: ['own_approval', 'approval_ended'],
  },
});

function isRefusal(outcome: ApprovalOutcome): outcome is ApprovalRefusal {
  return outcome.kind in REFUSALS;
}

const NOT_FOUND = problem('not_found', 'There is no such approval.');
const REFUSALS: Readonly<Record<ApprovalRefusal['kind'], Problem>> = {
  approval_not_found: NOT_FOUND,
  own_approval: problem('own_approval', 'You made this request. Another person must approve or reject it.'),
  approval_ended: problem('approval_ended', 'The approval has already ended with a different result. Retrieve it.'),
  approval_expired: problem('approval_ended', 'The approval has expired. Send a new request.'),
  approval_outdated: problem(
    'approval_outdated',
    'The payment has changed, so the effect of the request would differ from the one that the approval shows. Send a new request.',
  ),
  reason_erased: problem(
    'approval_outdated',
    'The reason was erased together with the payment’s personal data. Send a new request.',
  ),
};

/**
 * The request needs no idempotency key: it names the approval and the verdict, so repeating it has no further effect.
 */
async function give(
  call: Pick<VerdictCall, 'request' | 'id' | 'caller' | 'logFields' | 'tools'>,
  verdict: (tools: ApprovalTools, verdict: Verdict) => Promise<ApprovalOutcome>,
): Promise<Handled> {
  const { request, id, caller, logFields } = call;
  const tools = { ...call.tools, alarm: logFields.alarm };
  const outcome = await verdict(tools, { id, by: caller, cause: causedByOperator(call) });
  if (isRefusal(outcome)) return refusal(REFUSALS[outcome.kind], request);
  if (outcome.kind === 'change_refused') {
    const answer = changeOutcomeAnswer(
      outcome.change,
      { kind: 'refused', refusal: outcome.refusal },
      request.requestId,
    );
    return { answer, outcome: outcome.refusal.kind, counts: [] };
  }
  const answer = outcome.kind === 'replay' ? outcome.answer : operatorAnswer(outcome, request.requestId);
  return { answer, outcome: outcome.kind, counts: keyedCounts(outcome) };
}

export const APPROVAL_ROUTES: readonly OperatorEndpoint<ApprovalTools>[] = [
  getApprovals,
  getApproval,
  postApproval,
  postRejection,
];
