import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { KeyedEffectTools } from './keyed-effect.ts';
import type { MessageQueues } from './queue-lists.ts';
import { type DeploymentRequest, type RecordedOutcome, recordOfRequest } from './record-once.ts';

export interface RedriveTools extends Pick<KeyedEffectTools, 'effects' | 'runner' | 'clock' | 'entropy' | 'retention'> {
  readonly messages: MessageQueues;
}

/** An operator's request to redrive the dead letters of a queue. */
export interface Redrive extends DeploymentRequest {
  readonly queue: string;
  readonly to: string;
}

/** Time limit for moving messages, in milliseconds. The request thus ends before API Gateway's timeout. */
const MOVES_FOR_MS = 15_000;

/**
 * Redrives the messages that were in a dead-letter queue when the request arrived. First records the request in the
 * activity log. If a request crashes, repeating it continues with the remaining messages. One request never redrives a
 * message twice, because a message that fails again is newer than the request. Each redriven message takes effect once,
 * because every handler is idempotent. The request itself must end within 29 seconds, so it does not process the
 * messages: it passes them to functions that have the permissions and the time for the work.
 *
 * @returns `refused` when the queue is empty
 * @throws RetryableError when the queues or the store are unavailable: a retry with the same key continues
 * @throws AmbiguousError when it is unknown whether the request was recorded: a retry with the same key continues
 */
export async function redriveQueue(tools: RedriveTools, asked: Redrive): Promise<RecordedOutcome> {
  const recorded = await recordRequest(tools, asked);
  if (recorded.kind !== 'recorded') return recorded;
  const stopAtMs = tools.clock.nowMs() + MOVES_FOR_MS;
  await tools.messages.redrive(asked.queue, { beforeMs: recorded.atMs, stopAtMs });
  return recorded.outcome;
}

type Recorded =
  | { readonly kind: 'recorded'; readonly atMs: number; readonly outcome: RecordedOutcome }
  | Exclude<RecordedOutcome, { readonly kind: 'first' | 'replay' }>;

async function recordRequest(tools: RedriveTools, asked: Redrive): Promise<Recorded> {
  const { effects, runner, clock, messages } = tools;
  const { operationId, fingerprint, queue, to } = asked;
  const find = async (): Promise<Recorded | undefined> => {
    const record = await effects.readEffect(operationId);
    if (record === undefined) return undefined;
    const outcome = judgeEffect(record, fingerprint);
    return outcome.kind === 'replay' ? { kind: 'recorded', atMs: record.recordedAtMs, outcome } : outcome;
  };
  return commitOnce<undefined, Recorded>(runner, {
    operationId,
    find,
    prepare: async () => undefined,
    write: async () => {
      const waiting = await messages.count(queue);
      if (waiting === 0) return { kind: 'done', outcome: { kind: 'refused' } };
      const atMs = clock.nowMs();
      const answer = answerOf(asked, waiting, atMs);
      const act = {
        action: 'queue.redrive_requested',
        about: [queue],
        details: { to, waiting: String(waiting) },
      } as const;
      const written = await effects.recordEffect(recordOfRequest(tools, asked, { answer, atMs, ...act }));
      if (written.kind === 'recorded')
        return { kind: 'done', outcome: { kind: 'recorded', atMs, outcome: { kind: 'first', answer } } };
      // A rival with the same key has recorded the request, or another action took the next sequence number in the log.
      const found = await find();
      return found === undefined ? { kind: 'again', prepared: undefined } : { kind: 'done', outcome: found };
    },
  });
}

function answerOf({ queue, to }: Redrive, waiting: number, atMs: number): Answer {
  const body = { object: 'redrive', queue, to, waiting, created: Math.floor(atMs / 1000) };
  return { status: 202, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify(body) };
}
