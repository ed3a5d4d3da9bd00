import * as z from 'zod';
import { type Call as CallBy, type Handled, refusal } from '../../http/authenticated-api.ts';
import { readOptionalJsonObject } from '../../http/json-body.ts';
import { keyedCounts, payloadMismatch, readKeyedRequest, replayed } from '../../http/keyed-request.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import type { Digest } from '../../kernel/digest.ts';
import { deriveRedriveId } from '../../kernel/ids.ts';
import type { Operator } from '../../tenants/operators.ts';
import { type DeployedQueues, QUEUES } from '../use/queue-lists.ts';
import { type RedriveTools, redriveQueue } from '../use/redrive-queue.ts';

export interface PostRedriveTools extends RedriveTools {
  readonly digest: Digest;
}

export const redriveBody = z.strictObject({}).meta({ id: 'RedriveQueue' });

/** Puts dead letters back into the queue that they came from. */
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
  const way = wayBack(tools.messages.deployed, id);
  if (way.kind === 'refused') return refusal(way.problem, request);
  const { key, fingerprint } = read.value;
  const scope = { person: caller.person, method: 'POST', path: `/v1/admin/queues/${id}/redrive`, key };
  const outcome = await redriveQueue(tools, {
    operationId: deriveRedriveId(tools.digest, scope),
    fingerprint,
    by: causedByOperator(call),
    queue: id,
    to: way.to,
  });
  const counts = keyedCounts(outcome);
  switch (outcome.kind) {
    case 'first':
      return { answer: outcome.answer, outcome: outcome.kind, counts };
    case 'replay':
      return { answer: replayed(outcome.answer), outcome: outcome.kind, counts };
    case 'payload_mismatch':
      return { answer: payloadMismatch(request.requestId), outcome: outcome.kind, counts };
    case 'nothing_waits':
      return refusal(problem('nothing_to_redrive', `No message waits in ${id}.`), request);
  }
}

function wayBack(deployed: DeployedQueues, id: string) {
  const refused = (detail: string) => ({ kind: 'refused', problem: problem('invalid_request', detail, 'id') }) as const;
  if (Object.hasOwn(QUEUES, id)) return refused('A job empties this queue: request a run of it.');
  const queue = Object.hasOwn(deployed, id) ? deployed[id] : undefined;
  if (queue === undefined)
    return { kind: 'refused', problem: problem('not_found', 'There is no such queue.') } as const;
  if (!queue.isKept) return refused('A function receives the messages of this queue.');
  if (queue.redriveTo === undefined)
    return refused('Its messages did not come from a queue. The command `payonce redrive` does their work again.');
  return { kind: 'way', to: queue.redriveTo } as const;
}
