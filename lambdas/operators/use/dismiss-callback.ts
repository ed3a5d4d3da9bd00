import type { QueueLists } from './queue-lists.ts';
import {
  type DeploymentRequest,
  outcomeOf,
  type RecordedOutcome,
  type RequestTools,
  recordRequest,
  responseTo,
} from './record-once.ts';

/** Codes instead of free text, because the activity log is never erased. */
export const DISMISSAL_REASONS = ['nothing_due', 'refunded', 'other_program'] as const;

export interface DismissTools extends RequestTools {
  readonly queues: Pick<QueueLists, 'needingOperator'>;
}

export interface Dismissal extends DeploymentRequest {
  /** The unparsed id from the request. */
  readonly callback: string;
  readonly reason: (typeof DISMISSAL_REASONS)[number];
}

/**
 * Of two concurrent requests, exactly one removes the callback. Finds only callbacks that the list of work for
 * operators contains.
 *
 * @returns `refused` when there is no such unmatched callback
 * @throws RetryableError when nothing was written
 * @throws AmbiguousError when it is unknown whether the write took effect; a retry with the same key finds out
 */
export async function dismissCallback(tools: DismissTools, asked: Dismissal): Promise<RecordedOutcome> {
  const recorded = await recordRequest(tools, asked, async (atMs) => {
    const { entries } = await tools.queues.needingOperator('unmatched_callbacks');
    const dismissed = entries
      .flatMap(({ callback = [] }) => callback)
      .find(({ operationId }) => operationId === asked.callback);
    if (dismissed === undefined) return undefined;
    const { operationId: callback, event } = dismissed;
    const { processorName: processor, mode, chargeId } = event;
    const { reason } = asked;
    return {
      answer: responseTo(201, { object: 'dismissal', callback, charge_id: chargeId, reason }, atMs),
      action: 'callback.dismissed',
      about: [callback, chargeId],
      details: { reason, processor, mode },
      dismissed,
    };
  });
  return outcomeOf(recorded);
}
