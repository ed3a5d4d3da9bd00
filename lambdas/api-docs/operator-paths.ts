import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { approvalsQuery, verdictBody } from '../operators/http/approval-routes.ts';
import { timelineQuery } from '../operators/http/get-timeline.ts';
import { queueQuery, tenantsQuery } from '../operators/http/operator-lists.ts';
import { redriveBody } from '../operators/http/post-redrive.ts';
import { payment } from '../payments/http/payment-objects.ts';
import { keyed, reading, setting } from './operations.ts';
import {
  approval,
  approvalList,
  NOT_AS_SHOWN,
  operatorSelf,
  queueEntryList,
  queueList,
  queuePath,
  redrive,
  redrivePath,
  tenantList,
  timeline,
} from './operator-answers.ts';

const approvalPath = z.object({ id: approval.shape.id.meta({ description: 'The id of the approval.' }) });

/** Operations of operators on the deployment. */
export const operatorPaths: ZodOpenApiPathsObject = {
  '/v1/admin/me': {
    get: reading({
      operationId: 'getMe',
      summary: 'Show the caller',
      description: 'The name, the identity and the role of the operator whose key or token is sent.',
      role: 'viewer',
      answers: { 200: { description: 'The operator.', schema: operatorSelf } },
    }),
  },
  '/v1/admin/payments/{id}/timeline': {
    get: reading({
      operationId: 'getTimeline',
      summary: 'Show the timeline of a payment',
      description:
        'In chronological order: transitions, claims and takeovers, calls to the processor with their answers, callbacks, events, attempts of webhooks, alarms and actions of operators. ' +
        'A page covers some transitions and everything that belongs to them. Claims and calls are shown until the record of their key expires, and deliveries for 90 days. The calls of a crashed process are not known.',
      role: 'viewer',
      path: z.object({ id: payment.shape.id.meta({ description: 'The id of the payment.' }) }),
      query: timelineQuery,
      answers: { 200: { description: 'What happened.', schema: timeline } },
    }),
  },
  '/v1/admin/approvals': {
    get: reading({
      operationId: 'listApprovals',
      summary: 'List approvals',
      description:
        'The corrections and decisions above the limit of the deployment (`approvalAbove`), of all tenants, that wait or waited for a second person.',
      role: 'viewer',
      query: approvalsQuery,
      answers: { 200: { description: 'A page of approvals.', schema: approvalList } },
    }),
  },
  '/v1/admin/approvals/{id}': {
    get: reading({
      operationId: 'getApproval',
      summary: 'Retrieve an approval',
      description: 'A strongly consistent read.',
      role: 'viewer',
      path: approvalPath,
      answers: { 200: { description: 'The approval.', schema: approval } },
    }),
  },
  '/v1/admin/approvals/{id}/approve': {
    post: setting({
      operationId: 'approveRequest',
      summary: 'Approve the request of another operator',
      description:
        'Executes the request, exactly once. It is decided again on the current payment, with the same refusals as a request that does not wait. The person who made the request cannot approve it. ' +
        'An approval ends once, so a repeated request has the same answer and needs no key.',
      role: 'approver',
      path: approvalPath,
      body: { schema: verdictBody, required: false },
      answers: { 200: { description: 'The approval, whose request was executed.', schema: approval } },
      problems: [
        'own_approval',
        'approval_ended',
        'approval_outdated',
        'already_reversed',
        'payment_not_in_review',
        'change_not_undecided',
        ...NOT_AS_SHOWN,
      ],
    }),
  },
  '/v1/admin/approvals/{id}/reject': {
    post: setting({
      operationId: 'rejectRequest',
      summary: 'Reject the request of another operator',
      description: 'The request has no effect and can no longer be approved. A repeated request has the same answer.',
      role: 'approver',
      path: approvalPath,
      body: { schema: verdictBody, required: false },
      answers: { 200: { description: 'The rejected approval.', schema: approval } },
      problems: ['own_approval', 'approval_ended'],
    }),
  },
  '/v1/admin/tenants': {
    get: reading({
      operationId: 'listTenants',
      summary: 'List tenants',
      description: 'All tenants of the deployment.',
      role: 'viewer',
      query: tenantsQuery,
      answers: { 200: { description: 'A page of tenants.', schema: tenantList } },
    }),
  },
  '/v1/admin/queues': {
    get: reading({
      operationId: 'listQueues',
      summary: 'List the queues of unfinished work',
      description:
        'The number of entries of each queue, across all tenants, and the age of the oldest one. The queues of unfinished work come first, followed by the queues of messages.',
      role: 'viewer',
      answers: { 200: { description: 'The queues.', schema: queueList } },
    }),
  },
  '/v1/admin/queues/{id}': {
    get: reading({
      operationId: 'listQueueEntries',
      summary: 'List the entries of a queue',
      description:
        'Each entry has its payment or order and its age. An entry that a job ends leaves the list. For queues of messages, only messages that no function receives are listed ' +
        '(dead letters, parked records): in no particular order, without `starting_after`, at most `limit`, and hidden from a redrive while they are read.',
      role: 'viewer',
      path: queuePath,
      query: queueQuery,
      answers: { 200: { description: 'A page of entries.', schema: queueEntryList } },
    }),
  },
  '/v1/admin/queues/{id}/redrive': {
    post: keyed({
      operationId: 'redriveQueue',
      summary: 'Redrive dead letters or parked records',
      description:
        'Moves the messages in a queue of dead letters, of parked records or of calls to vendors to the queue or function that processes them again (`redrive_to`), each at most once per request, for up to 15 seconds. ' +
        'Each takes effect once. A message that fails again returns to the queue and waits for another request. A queue with `no_redrive_because` cannot be redriven.',
      role: 'operator',
      path: redrivePath,
      key: ['redrive', 'only messages that waited at the first request are put back'],
      body: { schema: redriveBody, required: false },
      answers: { 202: { description: 'The moved messages.', schema: redrive } },
      problems: ['nothing_to_redrive'],
    }),
  },
};
