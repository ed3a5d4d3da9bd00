import * as z from 'zod';
import { type Call as CallBy, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type OperatorEndpoint, type ReadingCall, reading } from '../../http/endpoint.ts';
import { DEFAULT_PAGE, pageLimit } from '../../http/lists.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { problem } from '../../http/problems.ts';
import { defined } from '../../kernel/defined.ts';
import { tenantId } from '../../kernel/ids.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import type { Operator } from '../../tenants/operators.ts';
import { readWork, WORK_PAGE, type WorkReader } from '../use/ended-work.ts';
import {
  CLAIM_SORT_KEY_PATTERN,
  type DeployedQueues,
  describeMessages,
  dismissalOf,
  type MessageEntry,
  type MessageQueues,
  QUEUES,
  type QueueEntry,
  type QueueLists,
  type QueueName,
  type QueuePosition,
  redriveTarget,
} from '../use/queue-lists.ts';
import { operatorSelf, queueEntryList, queueList, queuePath, tenantList } from './answer-schemas.ts';
import type { KeyTools } from './key-routes.ts';
import { TENANT_ID } from './ledger-schemas.ts';

export interface OperatorListTools extends Pick<KeyTools, 'keysBy' | 'clock'> {
  readonly queues: QueueLists;
  readonly messages: MessageQueues;
  readonly store: WorkReader;
  readonly telemetry: Pick<Telemetry, 'fault'>;
}

type Call = CallBy<OperatorListTools, Operator>;
type Read<Query extends z.ZodObject> = ReadingCall<OperatorListTools, Query, Operator>;

const tenantsQuery = z.strictObject({
  limit: pageLimit('tenants'),
  starting_after: z
    .string()
    .regex(TENANT_ID, 'must be the id of a tenant')
    .optional()
    .meta({ description: 'The `id` of the last tenant of the previous page.' }),
});

const QUEUE_ENTRY_ID = /^que_[A-Za-z0-9_-]{1,800}$/;

const queueQuery = z.strictObject({
  limit: pageLimit('entries', `${WORK_PAGE} for \`holds\` and \`inquiries\`, otherwise ${DEFAULT_PAGE}`),
  starting_after: z
    .string()
    .regex(QUEUE_ENTRY_ID, 'must be the id of an entry of this queue')
    .optional()
    .meta({ description: 'The `id` of the last entry of the previous page.' }),
});

const getMe = reading({
  path: '/v1/admin/me',
  role: 'viewer',
  handle: async ({ caller }: CallBy<unknown, Operator>) => {
    const { name, identity, role } = caller;
    return found({ object: 'operator', operator: name, identity, role });
  },
  docs: {
    operationId: 'getMe',
    tag: 'Operators',
    summary: 'Show the caller',
    description: 'Returns the name, the identity and the role of the operator whose key or token sent the request.',
    answers: { 200: { description: 'The operator.', schema: operatorSelf } },
  },
});

const getTenants = reading({
  path: '/v1/admin/tenants',
  role: 'viewer',
  query: tenantsQuery,
  handle: listTenants,
  docs: {
    operationId: 'listTenants',
    tag: 'Operators',
    summary: 'List tenants',
    description: 'All tenants of the deployment.',
    answers: { 200: { description: 'A page of tenants.', schema: tenantList } },
  },
});

async function listTenants(call: Read<typeof tenantsQuery>): Promise<Handled> {
  const { limit = DEFAULT_PAGE, starting_after: after } = call.query;
  const page = { limit: limit + 1, ...(after === undefined ? {} : { after: tenantId(after) }) };
  const tenants = await call.tools.keysBy(causedByOperator(call)).pageOfTenants(page);
  const data = tenants.slice(0, limit).map(({ id, name, createdAtMs }) => ({
    id,
    object: 'tenant',
    name,
    created: seconds(createdAtMs),
  }));
  return found({ object: 'list', data, has_more: tenants.length > limit });
}

const NAMES = Object.keys(QUEUES) as QueueName[];

const getQueues = reading({
  path: '/v1/admin/queues',
  role: 'viewer',
  handle: listQueues,
  docs: {
    operationId: 'listQueues',
    tag: 'Operators',
    summary: 'List the queues of unfinished work',
    description:
      'Lists each queue with its number of entries, across all tenants, and the age of the oldest entry. The queues of unfinished work come first, then the message queues.',
    answers: { 200: { description: 'The queues.', schema: queueList } },
  },
});

/**
 * Reads the queues of unfinished work in sequence, because each read queries every shard. A queue that cannot be read
 * is listed without its number of entries.
 */
async function listQueues({ tools, request }: Call): Promise<Handled> {
  const unread = (error: unknown): undefined => {
    tools.telemetry.fault(request.requestId, error);
  };
  const nowMs = tools.clock.nowMs();
  const { deployed } = tools.messages;
  const data = [];
  for (const id of NAMES) {
    const summary = await tools.queues.summary(id).catch(unread);
    const { waiting = null, hasMore = true, oldestMs } = summary ?? {};
    const { waits, job } = QUEUES[id];
    const age = oldestMs === undefined ? null : Math.max(0, seconds(nowMs - oldestMs));
    const row = { id, object: 'queue', description: waits, job, is_kept: false, ...redriveOf(deployed, id) };
    data.push({ ...row, waiting, more_waiting: hasMore, oldest_age: age });
  }
  const counts = await Promise.all(Object.keys(deployed).map((id) => tools.messages.count(id).catch(unread)));
  const messages = Object.entries(deployed).map(([id, { isKept }], index) => ({
    id,
    object: 'queue',
    description: describeMessages(id, isKept),
    job: null,
    is_kept: isKept,
    ...redriveOf(deployed, id),
    waiting: counts[index] ?? null,
    more_waiting: counts[index] === undefined,
    oldest_age: null,
  }));
  return found({ object: 'list', data: [...data, ...messages], has_more: false });
}

function redriveOf(deployed: DeployedQueues, id: string) {
  const target = redriveTarget(deployed, id);
  const dismissal = dismissalOf(deployed, id);
  return {
    redrive_to: target?.kind === 'target' ? target.to : null,
    no_redrive_because: target?.kind === 'none' ? target.because : null,
    no_dismissal_because: dismissal?.kind === 'none' ? dismissal.because : null,
    can_dismiss_all: dismissal?.kind === 'all',
  };
}

const getEntries = reading({
  path: '/v1/admin/queues/{id}',
  role: 'viewer',
  query: queueQuery,
  handle: listEntries,
  docs: {
    operationId: 'listQueueEntries',
    tag: 'Operators',
    summary: 'List the entries of a queue',
    description:
      'Lists entries with their payment or order and their age. Of the message queues, only those that no function reads can be listed. ' +
      'Their messages have no order, and `starting_after` is not allowed. A redrive does not receive the messages while they are being listed.',
    path: queuePath,
    answers: { 200: { description: 'A page of entries.', schema: queueEntryList } },
  },
});

async function listEntries(call: Read<typeof queueQuery>): Promise<Handled> {
  const { tools, request, id, query } = call;
  const queue = NAMES.find((name) => name === id);
  if (queue === undefined) return listMessages(call);
  const hasEnds = OFTEN_ENDED.has(queue);
  const { limit = hasEnds ? WORK_PAGE : DEFAULT_PAGE, starting_after: cursor } = query;
  const after = cursor === undefined ? undefined : placeOf(queue, cursor);
  if (cursor !== undefined && after === undefined) {
    const detail = 'starting_after must be the id of an entry from an earlier page of this queue.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const page = { limit: limit + 1, ...defined({ after }) };
  const entries = await tools.queues.page(queue, page);
  const nowMs = tools.clock.nowMs();
  const data = await Promise.all(
    entries.slice(0, limit).map(async ({ place, entry }) => {
      const shown = hasEnds ? await withEnd(call, queue, entry) : entry;
      return entryObject(queue, idOf(queue, place), shown, nowMs);
    }),
  );
  return found({ object: 'list', data, has_more: entries.length > limit });
}

/** The queues in which an entry can remain after its change or hold has ended, until the next look-up. */
const OFTEN_ENDED: ReadonlySet<QueueName> = new Set(['holds', 'inquiries']);

/** An entry whose payment cannot be read now is listed unmarked. */
async function withEnd({ tools, request }: Call, queue: QueueName, entry: QueueEntry): Promise<ListedEntry> {
  try {
    const work = await readWork(tools.store, entry, queue === 'holds');
    return work?.isEnded === true ? { ...entry, needsOperator: false, reason: ENDED } : entry;
  } catch (error) {
    tools.telemetry.fault(request.requestId, error);
    return entry;
  }
}

/** There are no pages: Amazon SQS has no cursors, and counts each listing of a message as a receive. */
async function listMessages({ tools, request, id, query }: Read<typeof queueQuery>): Promise<Handled> {
  const { messages, clock } = tools;
  const { limit = DEFAULT_PAGE, starting_after: after } = query;
  const queue = Object.hasOwn(messages.deployed, id) ? messages.deployed[id] : undefined;
  if (queue === undefined) return refusal(problem('not_found', 'There is no such queue.'), request);
  if (!queue.isKept) {
    const detail = 'The messages of this queue cannot be listed, because a function receives them.';
    return refusal(problem('invalid_request', detail, 'id'), request);
  }
  if (after !== undefined) {
    const detail = 'starting_after is not supported for a queue of messages, because the messages have no order.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const entries = await messages.peek(id, limit);
  const nowMs = clock.nowMs();
  const data = entries.map((entry) => entryObject(id, entry.id, entry, nowMs));
  return found({ object: 'list', data, has_more: (await messages.count(id)) > entries.length });
}

/** The reason of a callback whose charge names no payment: an operator need not act, and the entry expires. */
const OTHER_PROGRAM = 'other_program';
/** A job removes the entry. */
const ENDED = 'ended';

type ListedEntry = QueueEntry & Pick<MessageEntry, 'reason' | 'job' | 'scheduledForMs'>;

function entryObject(queue: string, id: string, entry: ListedEntry, nowMs: number) {
  const { about, part, callback, job, scheduledForMs, sinceMs, needsOperator, reason } = entry;
  return {
    id,
    object: 'queue_entry',
    queue,
    about: about ?? null,
    part: part ?? null,
    callback: callback?.operationId ?? null,
    processor: callback?.event.processorName ?? null,
    mode: callback?.event.mode ?? null,
    job: job ?? null,
    scheduled_for: scheduledForMs === undefined ? null : seconds(scheduledForMs),
    since: sinceMs === undefined ? null : seconds(sinceMs),
    age: sinceMs === undefined ? null : Math.max(0, seconds(nowMs - sinceMs)),
    needs_operator: needsOperator,
    reason: reason ?? (callback?.isForeign === true ? OTHER_PROGRAM : null),
  };
}

/** The id contains the entry's position, so it also serves as the cursor. */
function idOf(queue: QueueName, { shard, sort }: QueuePosition): string {
  return `que_${Buffer.from(`${queue} ${shard} ${sort}`).toString('base64url')}`;
}

function placeOf(queue: QueueName, id: string): QueuePosition | undefined {
  const text = Buffer.from(id.slice('que_'.length), 'base64url').toString('utf8');
  const [, of, shard = '', sort = ''] = /^(\w+) (\d{1,3}) (.+)$/.exec(text) ?? [];
  if (of !== queue || (queue === 'claims' && !CLAIM_SORT_KEY_PATTERN.test(sort))) return undefined;
  return { shard: Number(shard), sort };
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}

export const LIST_ROUTES: readonly OperatorEndpoint<OperatorListTools>[] = [getMe, getTenants, getQueues, getEntries];
