import * as z from 'zod';
import { type Handled, refusal } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed } from '../../http/endpoint.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveQueueRequestId } from '../ids.ts';
import { dismissalOf, redriveTarget } from '../use/queue-lists.ts';
import {
  dismissMessage,
  dismissMessages,
  MESSAGE_DISMISSAL_REASONS,
  type RedriveTools,
  redriveMessage,
  redriveQueue,
} from '../use/redrive-queue.ts';
import { messageDismissal, messageDismissalReason, messageId, redrive, redrivePath } from './answer-schemas.ts';
import { recordedAnswer } from './recorded-answer.ts';

interface PostRedriveTools extends RedriveTools {
  readonly digest: Digest;
}

const redriveBody = z
  .strictObject({
    entry: messageId
      .optional()
      .meta({ description: 'The `id` of the only entry to redrive. By default, all entries are redriven.' }),
  })
  .meta({ id: 'RedriveQueue' });

export const postRedrive = keyed({
  path: '/v1/admin/queues/{id}/redrive',
  role: 'operator',
  body: redriveBody,
  optionalBody: true,
  handle: startRedrive,
  docs: {
    operationId: 'redriveQueue',
    tag: 'Operators',
    summary: 'Redrive dead letters or parked records',
    description:
      'Moves the dead letters, parked records or failed vendor calls in a queue, or one of them (`entry`), to the queue or function that processes them again (`redrive_to`). A request moves messages for up to 15 seconds, each message at most once. ' +
      'Each message takes effect once. A message that fails again returns to the queue and waits for another request. A queue with `no_redrive_because` cannot be redriven.',
    path: redrivePath,
    key: ['redrive', 'only messages that were in the queue at the first request are moved'],
    requests: {
      all: { summary: 'All waiting messages', value: {} },
      one: { summary: 'One message', value: { entry: '6f1c7a52-9d0e-4d6b-8a54-0c8f3f5e2b11' } },
    },
    answers: { 202: { description: 'The moved messages.', schema: redrive } },
    problems: ['nothing_to_redrive'],
  },
});

async function startRedrive(call: KeyedCall<PostRedriveTools, typeof redriveBody, Operator>): Promise<Handled> {
  const { tools, request, caller, id, key, fingerprint, body } = call;
  const { entry } = body;
  const target = redriveTarget(tools.messages.deployed, id);
  if (target === undefined) return refusal(problem('not_found', 'There is no such queue.'), request);
  if (target.kind === 'none') return refusal(problem('invalid_request', target.because, 'id'), request);
  const scope = { person: caller.person, method: 'POST', path: `/v1/admin/queues/${id}/redrive`, key };
  const operationId = deriveQueueRequestId(tools.digest, scope);
  const asked = { operationId, fingerprint, by: causedByOperator(call), queue: id, to: target.to };
  if (entry === undefined) {
    const refused = problem('nothing_to_redrive', `No message waits in ${id}.`);
    return recordedAnswer(await redriveQueue(tools, asked), request, refused);
  }
  const refused = problem('nothing_to_redrive', notFound(id, entry));
  return recordedAnswer(await redriveMessage(tools, { ...asked, entry }), request, refused);
}

function notFound(queue: string, entry: string): string {
  return `${queue} has no message ${entry} now. The message was redriven or dismissed, or another request holds it for up to 30 seconds.`;
}

const dismissalBody = z
  .strictObject({
    entry: messageId.optional().meta({
      description: 'The `id` of an entry of the queue. Required, except for a queue with `can_dismiss_all`.',
    }),
    reason: z
      .enum(MESSAGE_DISMISSAL_REASONS, `must be one of ${MESSAGE_DISMISSAL_REASONS.join(', ')}`)
      .meta(messageDismissalReason),
  })
  .meta({ id: 'DismissMessage' });

export const postMessageDismissal = keyed({
  path: '/v1/admin/queues/{id}/dismiss',
  role: 'operator',
  body: dismissalBody,
  handle: dismiss,
  docs: {
    operationId: 'dismissMessage',
    tag: 'Operators',
    summary: 'Dismiss dead letters or parked records',
    description:
      'Deletes a message of a queue that no function reads. Payonce then never does its work, so dismiss a message only if its work was done otherwise or is no longer needed. ' +
      'If the queue has `can_dismiss_all`, a request without `entry` deletes all messages about jobs of this deployment, and keeps those about jobs of other services. The activity log keeps the message id, the payment or order, and the reason.',
    path: redrivePath,
    key: ['dismissal', 'only messages that were in the queue at the first request are deleted'],
    requests: {
      done: {
        summary: 'The work was done otherwise',
        value: { entry: '6f1c7a52-9d0e-4d6b-8a54-0c8f3f5e2b11', reason: 'done_otherwise' },
      },
      all: {
        summary: 'All missed runs of this deployment’s jobs, after each job has run',
        value: { reason: 'done_otherwise' },
      },
    },
    answers: { 201: { description: 'The dismissal.', schema: messageDismissal } },
  },
});

async function dismiss(call: KeyedCall<PostRedriveTools, typeof dismissalBody, Operator>): Promise<Handled> {
  const { tools, request, caller, id, key, fingerprint, body } = call;
  const dismissal = dismissalOf(tools.messages.deployed, id);
  if (dismissal === undefined) return refusal(problem('not_found', 'There is no such queue.'), request);
  if (dismissal.kind === 'none') return refusal(problem('invalid_request', dismissal.because, 'id'), request);
  const { entry, reason } = body;
  const scope = { person: caller.person, method: 'POST', path: `/v1/admin/queues/${id}/dismiss`, key };
  const operationId = deriveQueueRequestId(tools.digest, scope);
  const asked = { operationId, fingerprint, by: causedByOperator(call), queue: id, reason };
  if (entry !== undefined) {
    const refused = problem('not_found', notFound(id, entry));
    return recordedAnswer(await dismissMessage(tools, { ...asked, entry }), request, refused);
  }
  if (dismissal.kind === 'one') {
    const detail = 'entry is missing: the messages of this queue can only be dismissed one by one.';
    return refusal(problem('invalid_request', detail, 'entry'), request);
  }
  const refused = problem('not_found', `No message waits in ${id}.`);
  return recordedAnswer(await dismissMessages(tools, asked), request, refused);
}
