import * as z from 'zod';
import { type Handled, refusal } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed } from '../../http/endpoint.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveQueueRequestId } from '../ids.ts';
import { redriveTarget } from '../use/queue-lists.ts';
import { type RedriveTools, redriveQueue } from '../use/redrive-queue.ts';
import { redrive, redrivePath } from './answer-schemas.ts';
import { recordedAnswer } from './recorded-answer.ts';

interface PostRedriveTools extends RedriveTools {
  readonly digest: Digest;
}

const redriveBody = z.strictObject({}).meta({ id: 'RedriveQueue' });

/** Moves dead letters and parked records to the queue or function that processes them again. */
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
      'Moves the dead letters, parked records or failed vendor calls in a queue to the queue or function that processes them again (`redrive_to`). Moves each message at most once per request, for up to 15 seconds. ' +
      'Each message takes effect once. A message that fails again returns to the queue and waits for another request. A queue with `no_redrive_because` cannot be redriven.',
    path: redrivePath,
    key: ['redrive', 'only messages that were in the queue at the first request are moved'],
    requests: { all: { summary: 'All waiting messages', value: {} } },
    answers: { 202: { description: 'The moved messages.', schema: redrive } },
    problems: ['nothing_to_redrive'],
  },
});

async function startRedrive(call: KeyedCall<PostRedriveTools, typeof redriveBody, Operator>): Promise<Handled> {
  const { tools, request, caller, id, key, fingerprint } = call;
  const target = redriveTarget(tools.messages.deployed, id);
  if (target === undefined) return refusal(problem('not_found', 'There is no such queue.'), request);
  if (target.kind === 'none') return refusal(problem('invalid_request', target.because, 'id'), request);
  const scope = { person: caller.person, method: 'POST', path: `/v1/admin/queues/${id}/redrive`, key };
  const outcome = await redriveQueue(tools, {
    operationId: deriveQueueRequestId(tools.digest, scope),
    fingerprint,
    by: causedByOperator(call),
    queue: id,
    to: target.to,
  });
  return recordedAnswer(outcome, request, problem('nothing_to_redrive', `No message waits in ${id}.`));
}
