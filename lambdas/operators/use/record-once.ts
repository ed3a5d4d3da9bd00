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
   * Records of requests that change API keys or limits. They are always in DynamoDB, even if PostgreSQL is the
   * authority.
   */
  readonly accessRecords: Pick<EffectStore, 'readEffect'>;
}

/** Only writes rows, without a call to another system. */
export interface RecordedAct {
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  /**
   * @param recordOf creates the record of the request, which is written together with the effect; `stored` is the
   * response to retried requests
   * @returns the response to the first request; undefined when nothing was written
   */
  readonly act: (recordOf: (stored: Answer) => EffectRecord) => Promise<Answer | undefined>;
}

export type RecordedOutcome =
  | { readonly kind: 'first'; readonly answer: Answer }
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | { readonly kind: 'refused' };

export interface DeploymentRequest extends Pick<RecordedAct, 'operationId' | 'fingerprint'> {
  readonly by: OperatorCause;
}

export type RequestedAct = Pick<ActivityDraft, 'action' | 'about' | 'details'> &
  Pick<Effect, 'dismissed'> & { readonly answer: Answer };

export type RequestTools = Pick<KeyedEffectTools, 'effects' | 'runner' | 'clock' | 'entropy' | 'retention'>;

/** `atMs` is the time at which the request was first recorded. */
export type RecordedRequest =
  | { readonly kind: 'recorded'; readonly atMs: number; readonly outcome: RecordedOutcome }
  | Exclude<RecordedOutcome, { readonly kind: 'first' | 'replay' }>;

/**
 * Records the request exactly once, in one transaction with the entry in the activity log. The record expires.
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

export function outcomeOf(recorded: RecordedRequest): RecordedOutcome {
  return recorded.kind === 'recorded' ? recorded.outcome : recorded;
}

export function responseTo(status: 201 | 202, body: Readonly<Record<string, unknown>>, atMs: number): Answer {
  const created = Math.floor(atMs / 1000);
  return { status, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify({ ...body, created }) };
}

/**
 * The record of the request is permanent.
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
