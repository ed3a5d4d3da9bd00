import type { ActivityDraft } from '../../activity/domain/activity.ts';
import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import { defined } from '../../kernel/defined.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { type EffectRecord, expirySeconds } from '../../once/domain/idempotency.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { Effect, EffectStore } from '../../payments/use/effect-store.ts';
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
   * @param recordOf creates the record; `stored` is the response to retried requests
   * @returns the response to the first request; undefined when nothing was written
   */
  readonly act: (recordOf: (stored: Answer) => EffectRecord) => Promise<Answer | undefined>;
}

export type RecordedOutcome =
  | { readonly kind: 'first'; readonly answer: Answer }
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | { readonly kind: 'refused' };

/**
 * An operator's request that concerns the deployment. `recordRequest` records it together with an entry in the activity
 * log.
 */
export interface DeploymentRequest extends Pick<RecordedAct, 'operationId' | 'fingerprint'> {
  readonly by: OperatorCause;
}

/**
 * The effect of a request that concerns the deployment: the response, the entry in the activity log, and the callback
 * to dismiss, if any.
 */
export type RequestedAct = Pick<ActivityDraft, 'action' | 'about' | 'details'> &
  Pick<Effect, 'dismissed'> & { readonly answer: Answer };

export type RequestTools = Pick<KeyedEffectTools, 'effects' | 'runner' | 'clock' | 'entropy' | 'retention'>;

/** The result of recording a request. `atMs` is the time at which it was first recorded, in Unix milliseconds. */
export type RecordedRequest =
  | { readonly kind: 'recorded'; readonly atMs: number; readonly outcome: RecordedOutcome }
  | Exclude<RecordedOutcome, { readonly kind: 'first' | 'replay' }>;

/**
 * Records a request that concerns the deployment. The request is recorded exactly once, in one transaction with its
 * entry in the activity log. The record expires.
 *
 * @param act returns the effect that the request has at the given time; undefined to refuse the request
 * @throws RetryableError when nothing was written
 * @throws AmbiguousError when it is unknown whether the write took effect; a retry with the same key finds out
 */
export async function recordRequest(
  tools: RequestTools,
  { operationId, fingerprint, by }: DeploymentRequest,
  act: (atMs: number) => Promise<RequestedAct | undefined>,
): Promise<RecordedRequest> {
  const { effects, runner, clock, entropy } = tools;
  const find = async (): Promise<RecordedRequest | undefined> => {
    const record = await effects.readEffect(operationId);
    if (record === undefined) return undefined;
    const outcome = judgeEffect(record, fingerprint);
    return outcome.kind === 'replay' ? { kind: 'recorded', atMs: record.recordedAtMs, outcome } : outcome;
  };
  return commitOnce<undefined, RecordedRequest>(runner, {
    operationId,
    find,
    prepare: async () => undefined,
    write: async () => {
      const atMs = clock.nowMs();
      const made = await act(atMs);
      if (made === undefined) return { kind: 'done', outcome: (await find()) ?? { kind: 'refused' } };
      const { answer, dismissed, ...entry } = made;
      const written = await effects.recordEffect({
        record: {
          operationId,
          owner: entropy.ownerToken(),
          recordedAtMs: atMs,
          request: { fingerprint, answer },
          expiresAtSeconds: expirySeconds(tools, 'events', atMs),
        },
        transitions: [],
        activity: { chain: 'deployment', actor: by, occurredAtMs: atMs, ...entry },
        ...defined({ dismissed }),
      });
      if (written.kind === 'recorded')
        return { kind: 'done', outcome: { kind: 'recorded', atMs, outcome: { kind: 'first', answer } } };
      // A rival with the same key has recorded the request, a rival with another key has dismissed the same callback,
      // or another action has taken the next sequence number in the log.
      const found = await find();
      return found === undefined ? { kind: 'again', prepared: undefined } : { kind: 'done', outcome: found };
    },
  });
}

/** Returns the outcome that the response reports to the operator. */
export function outcomeOf(recorded: RecordedRequest): RecordedOutcome {
  return recorded.kind === 'recorded' ? recorded.outcome : recorded;
}

/** Renders the response to a request, with its time in Unix seconds. */
export function responseTo(status: 201 | 202, body: Readonly<Record<string, unknown>>, atMs: number): Answer {
  const created = Math.floor(atMs / 1000);
  return { status, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify({ ...body, created }) };
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
