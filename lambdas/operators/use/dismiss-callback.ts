import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { OrphanedCallback } from '../../payments/use/effect-store.ts';
import type { KeyedEffectTools } from './keyed-effect.ts';
import type { QueueLists } from './queue-lists.ts';
import { type DeploymentRequest, type RecordedOutcome, recordOfRequest } from './record-once.ts';

/** The reasons for which an operator may dismiss a callback. They contain no text, because the activity log is kept. */
export const DISMISSAL_REASONS = ['nothing_due', 'refunded', 'other_program'] as const;

export interface DismissTools extends Pick<KeyedEffectTools, 'effects' | 'runner' | 'clock' | 'entropy' | 'retention'> {
  readonly queues: Pick<QueueLists, 'needingOperator'>;
}

/** An operator's request to dismiss an unmatched callback. */
export interface Dismissal extends DeploymentRequest {
  /** The unparsed id of the callback from the request. */
  readonly callback: string;
  readonly reason: (typeof DISMISSAL_REASONS)[number];
}

/**
 * Removes an unmatched callback, and records the request in the activity log in the same transaction. Of two concurrent
 * requests, exactly one removes the callback. Only callbacks that the list of work for operators contains are found.
 *
 * @returns `refused` when there is no such unmatched callback
 * @throws RetryableError when nothing was written
 * @throws AmbiguousError when it is unknown whether the write took effect; a retry with the same key finds out
 */
export async function dismissCallback(tools: DismissTools, asked: Dismissal): Promise<RecordedOutcome> {
  const { effects, runner, clock, queues } = tools;
  const { operationId, fingerprint } = asked;
  const find = async (): Promise<RecordedOutcome | undefined> => {
    const record = await effects.readEffect(operationId);
    return record === undefined ? undefined : judgeEffect(record, fingerprint);
  };
  return commitOnce<undefined, RecordedOutcome>(runner, {
    operationId,
    find,
    prepare: async () => undefined,
    write: async () => {
      const { entries } = await queues.needingOperator('unmatched_callbacks');
      const dismissed = entries
        .flatMap(({ callback = [] }) => callback)
        .find((each) => each.operationId === asked.callback);
      if (dismissed === undefined) return { kind: 'done', outcome: (await find()) ?? { kind: 'refused' } };
      const { processorName, mode, chargeId } = dismissed.event;
      const atMs = clock.nowMs();
      const answer = answerOf(asked, dismissed, atMs);
      const written = await effects.recordEffect({
        ...recordOfRequest(tools, asked, {
          answer,
          atMs,
          action: 'callback.dismissed',
          about: [dismissed.operationId, chargeId],
          details: { reason: asked.reason, processor: processorName, mode },
        }),
        dismissed,
      });
      if (written.kind === 'recorded') return { kind: 'done', outcome: { kind: 'first', answer } };
      if (written.kind === 'recorded_before')
        return { kind: 'done', outcome: judgeEffect(written.record, fingerprint) };
      // A rival has dismissed the callback, or another action took the next sequence number in the log.
      return { kind: 'again', prepared: undefined };
    },
  });
}

function answerOf({ reason }: Dismissal, { operationId, event }: OrphanedCallback, atMs: number): Answer {
  const created = Math.floor(atMs / 1000);
  const body = { object: 'dismissal', callback: operationId, charge_id: event.chargeId, reason, created };
  return { status: 201, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify(body) };
}
