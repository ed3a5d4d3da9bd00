import * as z from 'zod';
import { type Call as CallBy, type Handled, refusal } from '../../http/authenticated-api.ts';
import { readOptionalJsonObject } from '../../http/json-body.ts';
import { readKeyedRequest } from '../../http/keyed-request.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveRedriveId } from '../ids.ts';
import { redriveTarget } from '../use/queue-lists.ts';
import { type RedriveTools, redriveQueue } from '../use/redrive-queue.ts';
import { recordedAnswer } from './recorded-answer.ts';

export interface PostRedriveTools extends RedriveTools {
  readonly digest: Digest;
}

export const redriveBody = z.strictObject({}).meta({ id: 'RedriveQueue' });

/** Moves dead letters and parked records to the queue or function that processes them again. */
export const postRedrive: OperatorRoute<PostRedriveTools> = {
  method: 'POST',
  path: '/v1/admin/queues/{id}/redrive',
  role: 'operator',
  handle: redrive,
};

async function redrive(call: CallBy<PostRedriveTools, Operator>): Promise<Handled> {
  const { tools, request, caller, id } = call;
  const read = readKeyedRequest(tools.digest, request, redriveBody, readOptionalJsonObject);
  if (read.kind === 'refused') return refusal(read.problem, request);
  const target = redriveTarget(tools.messages.deployed, id);
  if (target === undefined) return refusal(problem('not_found', 'There is no such queue.'), request);
  if (target.kind === 'none') return refusal(problem('invalid_request', target.because, 'id'), request);
  const { key, fingerprint } = read.value;
  const scope = { person: caller.person, method: 'POST', path: `/v1/admin/queues/${id}/redrive`, key };
  const outcome = await redriveQueue(tools, {
    operationId: deriveRedriveId(tools.digest, scope),
    fingerprint,
    by: causedByOperator(call),
    queue: id,
    to: target.to,
  });
  return recordedAnswer(outcome, request, problem('nothing_to_redrive', `No message waits in ${id}.`));
}
