import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { DEFAULT_PAGE, pageLimit } from '../../http/lists.ts';
import { causedByOperator, type OperatorRoute } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { defined } from '../../kernel/defined.ts';
import { tenantId } from '../../kernel/ids.ts';
import type { Operator } from '../../tenants/operators.ts';
import {
  CLAIM_SORT,
  type DeployedQueues,
  type MessageEntry,
  type MessageQueues,
  QUEUES,
  type QueueEntry,
  type QueueLists,
  type QueueName,
  type QueuePlace,
  redriveTarget,
} from '../use/queue-lists.ts';
import type { KeyTools } from './key-routes.ts';
import { TENANT_ID } from './ledger-schemas.ts';

export interface OperatorListTools extends Pick<KeyTools, 'keysBy' | 'clock'> {
  readonly queues: QueueLists;
  readonly messages: MessageQueues;
}

type Call = CallBy<OperatorListTools, Operator>;

export const tenantsQuery = z.strictObject({
  limit: pageLimit('tenants'),
  starting_after: z
    .string()
    .regex(TENANT_ID, 'must be the id of a tenant')
    .optional()
    .meta({ description: 'The `id` of the last tenant of the previous page.' }),
});

const QUEUE_ENTRY_ID = /^que_[A-Za-z0-9_-]{1,800}$/;

export const queueQuery = z.strictObject({
  limit: pageLimit('entries'),
  starting_after: z
    .string()
    .regex(QUEUE_ENTRY_ID, 'must be the id of an entry of this queue')
    .optional()
    .meta({ description: 'The `id` of the last entry of the previous page.' }),
});

/** Lists across tenants. */
export const LIST_ROUTES: readonly OperatorRoute<OperatorListTools>[] = [
  { method: 'GET', path: '/v1/admin/me', role: 'viewer', handle: showCaller },
  { method: 'GET', path: '/v1/admin/tenants', role: 'viewer', handle: listTenants },
  { method: 'GET', path: '/v1/admin/queues', role: 'viewer', handle: listQueues },
  { method: 'GET', path: '/v1/admin/queues/{id}', role: 'viewer', handle: listEntries },
];

/** The identity of the caller, and the permissions of its role. */
async function showCaller({ request, caller }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { name, identity, role } = caller;
  return found({ object: 'operator', operator: name, identity, role });
}

async function listTenants(call: Call): Promise<Handled> {
  const { tools, request } = call;
  const query = validateQuery(tenantsQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { limit = DEFAULT_PAGE, starting_after: after } = query.value;
  const page = { limit: limit + 1, ...(after === undefined ? {} : { after: tenantId(after) }) };
  const tenants = await tools.keysBy(causedByOperator(call)).pageOfTenants(page);
  const data = tenants.slice(0, limit).map(({ id, name, createdAtMs }) => ({
    id,
    object: 'tenant',
    name,
    created: seconds(createdAtMs),
  }));
  return found({ object: 'list', data, has_more: tenants.length > limit });
}

const NAMES = Object.keys(QUEUES) as QueueName[];

/** In sequence, because each is a query of every shard. */
async function listQueues({ tools, request }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const nowMs = tools.clock.nowMs();
  const { deployed } = tools.messages;
  const data = [];
  for (const id of NAMES) {
    const { waiting, hasMore, oldestMs } = await tools.queues.summary(id);
    const { waits, job } = QUEUES[id];
    const age = oldestMs === undefined ? null : Math.max(0, seconds(nowMs - oldestMs));
    const row = { id, object: 'queue', description: waits, job, is_kept: false, ...redriveOf(deployed, id) };
    data.push({ ...row, waiting, more_waiting: hasMore, oldest_age: age });
  }
  const counts = await Promise.all(Object.keys(deployed).map((id) => tools.messages.count(id)));
  const messages = Object.entries(deployed).map(([id, { isKept }], index) => ({
    id,
    object: 'queue',
    description: isKept ? KEPT_MESSAGES : MESSAGES,
    job: null,
    is_kept: isKept,
    ...redriveOf(deployed, id),
    waiting: counts[index],
    more_waiting: false,
    oldest_age: null,
  }));
  return found({ object: 'list', data: [...data, ...messages], has_more: false });
}

function redriveOf(deployed: DeployedQueues, id: string) {
  const target = redriveTarget(deployed, id);
  return {
    redrive_to: target?.kind === 'target' ? target.to : null,
    no_redrive_because: target?.kind === 'none' ? target.because : null,
  };
}

const MESSAGES = 'Messages that a function receives.';
const KEPT_MESSAGES = 'Messages that no function receives: they could not be handled, and wait for an operator.';

async function listEntries({ tools, request, id }: Call): Promise<Handled> {
  const query = validateQuery(queueQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const queue = NAMES.find((name) => name === id);
  if (queue === undefined) return listMessages({ tools, request }, id, query.value);
  const { limit = DEFAULT_PAGE, starting_after: cursor } = query.value;
  const after = cursor === undefined ? undefined : placeOf(queue, cursor);
  if (cursor !== undefined && after === undefined) {
    const detail = 'starting_after must be the id of an entry that a page of this queue has shown.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const page = { limit: limit + 1, ...defined({ after }) };
  const entries = await tools.queues.page(queue, page);
  const nowMs = tools.clock.nowMs();
  const data = entries.slice(0, limit).map(({ place, entry }) => entryObject(queue, idOf(queue, place), entry, nowMs));
  return found({ object: 'list', data, has_more: entries.length > limit });
}

/**
 * Lists messages that no function receives. Amazon SQS has no cursors, and counts every read of a message as a receive.
 */
async function listMessages(
  { tools: { messages, clock }, request }: Pick<Call, 'tools' | 'request'>,
  id: string,
  { limit = DEFAULT_PAGE, starting_after: after }: z.infer<typeof queueQuery>,
): Promise<Handled> {
  const queue = Object.hasOwn(messages.deployed, id) ? messages.deployed[id] : undefined;
  if (queue === undefined) return refusal(problem('not_found', 'There is no such queue.'), request);
  if (!queue.isKept) {
    const detail = 'The messages of this queue cannot be listed, because a function receives them.';
    return refusal(problem('invalid_request', detail, 'id'), request);
  }
  if (after !== undefined) {
    const detail = 'starting_after is not possible for a queue of messages: they have no order.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const entries = await messages.peek(id, limit);
  const nowMs = clock.nowMs();
  const data = entries.map((entry) => entryObject(id, entry.id, entry, nowMs));
  return found({ object: 'list', data, has_more: (await messages.count(id)) > entries.length });
}

function entryObject(queue: string, id: string, entry: QueueEntry & Pick<MessageEntry, 'reason'>, nowMs: number) {
  const { about, part, sinceMs, needsOperator, reason } = entry;
  return {
    id,
    object: 'queue_entry',
    queue,
    about: about ?? null,
    part: part ?? null,
    since: sinceMs === undefined ? null : seconds(sinceMs),
    age: sinceMs === undefined ? null : Math.max(0, seconds(nowMs - sinceMs)),
    needs_operator: needsOperator,
    reason: reason ?? null,
  };
}

/** The id contains the place, which is also the cursor. */
function idOf(queue: QueueName, { shard, sort }: QueuePlace): string {
  return `que_${Buffer.from(`${queue} ${shard} ${sort}`).toString('base64url')}`;
}

function placeOf(queue: QueueName, id: string): QueuePlace | undefined {
  const text = Buffer.from(id.slice('que_'.length), 'base64url').toString('utf8');
  const [, of, shard = '', sort = ''] = /^(\w+) (\d{1,2}) (.+)$/.exec(text) ?? [];
  if (of !== queue || (queue === 'claims' && !CLAIM_SORT.test(sort))) return undefined;
  return { shard: Number(shard), sort };
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}
