import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { Answer } from '../../kernel/answer.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { type EffectRecord, expirySeconds } from '../../once/domain/idempotency.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { EffectStore } from '../../payments/use/effect-store.ts';
import type { KeyedEffectTools } from './keyed-effect.ts';

export interface RecordTools extends Pick<KeyedEffectTools, 'runner' | 'clock' | 'entropy'> {
  /**
   * Reads the records of requests that change API keys or limits. These records are always in DynamoDB, even if
   * PostgreSQL is the authority.
   */
  readonly accessRecords: Pick<EffectStore, 'readEffect'>;
}

/** An operator's action that only writes rows, without a call to another system. */
export interface RecordedAct {
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  /**
   * Writes the effect together with the record of the request.
   *
   * @param recordOf creates the record
   * @param stored the response to retried requests
   * @returns the response to the first request; undefined when nothing was written
   */
  readonly act: (recordOf: (stored: Answer) => EffectRecord) => Promise<Answer | undefined>;
}

export type RecordedOutcome =
  | { readonly kind: 'first'; readonly answer: Answer }
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | { readonly kind: 'refused' };

/** An operator's request that concerns the deployment, with its entry in the activity log. */
export interface DeploymentRequest extends Pick<RecordedAct, 'operationId' | 'fingerprint'> {
  readonly by: OperatorCause;
}

/** Returns the record of a request and its entry in the activity log, which one transaction writes. */
export function recordOfRequest(
  tools: Pick<KeyedEffectTools, 'entropy' | 'retention'>,
  { operationId, fingerprint, by }: DeploymentRequest,
  {
    answer,
    atMs,
    ...act
  }: Pick<ActivityDraft, 'action' | 'about' | 'details'> & {
    readonly answer: Answer;
    /** Unix milliseconds. */
    readonly atMs: number;
  },
) {
  return {
    record: {
      operationId,
      owner: tools.entropy.ownerToken(),
      recordedAtMs: atMs,
      request: { fingerprint, answer },
      expiresAtSeconds: expirySeconds(tools, 'events', atMs),
    },
    transitions: [],
    activity: { chain: 'deployment' as const, actor: by, occurredAtMs: atMs, ...act },
  };
}

/**
 * Performs an action exactly once. The record of the request is permanent.
 *
 * @throws RetryableError when nothing was written
 */
export async function recordOnce(
  { accessRecords, runner, clock, entropy }: RecordTools,
  { operationId, fingerprint, act }: RecordedAct,
): Promise<RecordedOutcome> {
  const find = async (): Promise<RecordedOutcome | undefined> => {
    const record = await accessRecords.readEffect(operationId);
    return record === undefined ? undefined : judgeEffect(record, fingerprint);
  };
  return commitOnce<undefined, RecordedOutcome>(runner, {
    operationId,
    find,
    prepare: async () => undefined,
    write: async () => {
      const answer = await act((stored) => ({
        operationId,
        owner: entropy.ownerToken(),
        recordedAtMs: clock.nowMs(),
        request: { fingerprint, answer: stored },
      }));
      if (answer === undefined) return { kind: 'done', outcome: (await find()) ?? { kind: 'refused' } };
      return { kind: 'done', outcome: { kind: 'first', answer } };
    },
  });
}
