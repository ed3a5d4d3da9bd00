import { defined } from '../../kernel/defined.ts';
import type { HeldMessage, MessageQueues } from './queue-lists.ts';
import {
  type DeploymentRequest,
  outcomeOf,
  type RecordedOutcome,
  type RequestedAct,
  type RequestTools,
  recordRequest,
  responseTo,
} from './record-once.ts';

export interface RedriveTools extends RequestTools {
  readonly messages: MessageQueues;
}

export interface Redrive extends DeploymentRequest {
  readonly queue: string;
  readonly to: string;
}

export interface MessageRedrive extends Redrive {
  /** The id of the message. */
  readonly entry: string;
}

/** Codes instead of free text, because the activity log is never erased. */
export const MESSAGE_DISMISSAL_REASONS = ['done_otherwise', 'not_needed'] as const;

export interface QueueDismissal extends DeploymentRequest {
  readonly queue: string;
  readonly reason: (typeof MESSAGE_DISMISSAL_REASONS)[number];
}

export interface MessageDismissal extends QueueDismissal {
  readonly entry: string;
}

/** The request must end before API Gateway's timeout. */
const MOVES_FOR_MS = 15_000;
/** A request searches for its message at most twice. */
const FINDS_FOR_MS = 8_000;

/**
 * Redrives the messages that were in the queue when the request arrived. If a request crashes, repeating it continues
 * with the remaining messages. One request never redrives a message twice, because a message that fails again is newer
 * than the request. Each redriven message takes effect once, because every handler is idempotent. The request itself
 * must end within 29 seconds, so it passes the messages to the functions that have the permissions and the time for the
 * work.
 *
 * @returns `refused` when the queue is empty
 * @throws RetryableError when the queues or the store are unavailable: a retry with the same key continues
 * @throws AmbiguousError when it is unknown whether the request was recorded: a retry with the same key continues
 */
export async function redriveQueue(tools: RedriveTools, asked: Redrive): Promise<RecordedOutcome> {
  const { messages, clock } = tools;
  const { queue, to } = asked;
  const recorded = await recordRequest(tools, asked, async (atMs) => {
    const waiting = await messages.count(queue);
    if (waiting === 0) return undefined;
    return {
      answer: responseTo(202, { object: 'redrive', queue, entry: null, to, waiting }, atMs),
      action: 'queue.redrive_requested',
      about: [queue],
      details: { to, waiting: String(waiting) },
    };
  });
  if (recorded.kind === 'recorded')
    await messages.redrive(queue, { beforeMs: recorded.atMs, stopAtMs: clock.nowMs() + MOVES_FOR_MS });
  return outcomeOf(recorded);
}

/**
 * Redrives one message. The message stays hidden from other requests until it is deleted. Thus only one of two
 * concurrent requests moves it. A moved message that fails again has a new id, so no retry moves it again.
 *
 *   hold (hidden) ── record the request ── send ── (crash) ── delete
 *
 * A crash before the send leaves the message in its queue. A crash before the delete leaves it in both places; it takes
 * effect once, because its handler is idempotent. A retry with the same key continues in both cases, as soon as the
 * message is visible again.
 *
 * @returns `refused` when the message is not found: it is no longer in the queue, or another request holds it
 * @throws as `redriveQueue`
 */
export async function redriveMessage(tools: RedriveTools, asked: MessageRedrive): Promise<RecordedOutcome> {
  const { queue, entry, to } = asked;
  return endMessage(tools, asked, {
    recordedAs: (message, atMs) => ({
      answer: responseTo(202, { object: 'redrive', queue, entry, to, waiting: 1 }, atMs),
      action: 'message.redrive_requested',
      about: idsOf(asked, message),
      details: { to },
    }),
    end: (message) => message.redrive(),
  });
}

/**
 * Payonce then never does the work of the message. A retry with the same key continues after a crash.
 *
 * @returns `refused` in the same case as `redriveMessage`: the message is not found
 * @throws as `redriveQueue`
 */
export async function dismissMessage(tools: RedriveTools, asked: MessageDismissal): Promise<RecordedOutcome> {
  const { queue, entry, reason } = asked;
  return endMessage(tools, asked, {
    recordedAs: (message, atMs) => ({
      answer: responseTo(201, { object: 'message_dismissal', queue, entry, reason }, atMs),
      action: 'message.dismissed',
      about: idsOf(asked, message),
      details: { reason, ...defined({ part: message.part }) },
    }),
    end: (message) => message.delete(),
  });
}

/**
 * Deletes only messages about jobs of this deployment that were in the queue when the request arrived: no run of these
 * jobs does the work of the others. If a request crashes, repeating it deletes the remaining messages.
 *
 * @returns `refused` when the queue is empty
 * @throws as `redriveQueue`
 */
export async function dismissMessages(tools: RedriveTools, asked: QueueDismissal): Promise<RecordedOutcome> {
  const { messages, clock } = tools;
  const { queue, reason } = asked;
  const recorded = await recordRequest(tools, asked, async (atMs) => {
    const waiting = await messages.count(queue);
    if (waiting === 0) return undefined;
    return {
      answer: responseTo(201, { object: 'message_dismissal', queue, entry: null, reason }, atMs),
      action: 'message.dismissed',
      about: [queue],
      details: { reason, waiting: String(waiting) },
    };
  });
  if (recorded.kind === 'recorded')
    await messages.dismiss(queue, { beforeMs: recorded.atMs, stopAtMs: clock.nowMs() + MOVES_FOR_MS });
  return outcomeOf(recorded);
}

interface Ending {
  readonly recordedAs: (message: HeldMessage, atMs: number) => RequestedAct;
  readonly end: (message: HeldMessage) => Promise<void>;
}

function idsOf({ queue, entry }: Pick<MessageRedrive, 'queue' | 'entry'>, { about }: HeldMessage): readonly string[] {
  return [entry, queue, ...(about === undefined ? [] : [about])];
}

async function endMessage(
  tools: RedriveTools,
  asked: DeploymentRequest & { readonly queue: string; readonly entry: string },
  { recordedAs, end }: Ending,
): Promise<RecordedOutcome> {
  const { messages, clock } = tools;
  let held: HeldMessage | undefined;
  const hold = async () => (held ??= await messages.hold(asked.queue, asked.entry, clock.nowMs() + FINDS_FOR_MS));
  const recorded = await recordRequest(tools, asked, async (atMs) => {
    const message = await hold();
    return message === undefined ? undefined : recordedAs(message, atMs);
  });
  if (recorded.kind !== 'recorded') return recorded;
  const message = await hold();
  if (message !== undefined) await end(message);
  return recorded.outcome;
}
