import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { KeyedEffectTools } from '../../payments/use/keyed-effect.ts';
import type { KeySummary, MadeKey, RecordOfKey } from '../../tenants/keys.ts';

/** A request of an operator that makes a key. */
export interface MakeKey {
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  /** The status of the answer. */
  readonly status: 200 | 201;
  /** @returns undefined when nothing was written */
  readonly make: (recordOf: RecordOfKey) => Promise<MadeKey | undefined>;
  /** The key as the API shows it. @param secret the key itself; null in the stored answer */
  readonly show: (key: KeySummary, secret: string | null) => Readonly<Record<string, unknown>>;
}

export type MakeKeyOutcome =
  | { readonly kind: 'first'; readonly answer: Answer }
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | { readonly kind: 'refused' };

/**
 * Makes a key, exactly once. The record of the request is permanent, and has the answer without the key itself, so that the tables
 * never hold it: a repeated request has an answer without it.
 *
 * @throws RetryableError when nothing was written
 */
export async function makeKeyOnce(
  { effects, runner, clock, entropy }: Pick<KeyedEffectTools, 'effects' | 'runner' | 'clock' | 'entropy'>,
  { operationId, fingerprint, status, make, show }: MakeKey,
): Promise<MakeKeyOutcome> {
  const find = async (): Promise<MakeKeyOutcome | undefined> => {
    const record = await effects.readEffect(operationId);
    return record === undefined ? undefined : judgeEffect(record, fingerprint);
  };
  const answerOf = (key: KeySummary, secret: string | null): Answer => ({
    status,
    headers: { 'content-type': JSON_TYPE },
    body: JSON.stringify(show(key, secret)),
  });
  return commitOnce<undefined, MakeKeyOutcome>(runner, {
    operationId,
    find,
    prepare: async () => undefined,
    write: async () => {
      const made = await make((key) => ({
        operationId,
        owner: entropy.ownerToken(),
        recordedAtMs: clock.nowMs(),
        request: { fingerprint, answer: answerOf(key, null) },
      }));
      if (made === undefined) return { kind: 'done', outcome: (await find()) ?? { kind: 'refused' } };
      return { kind: 'done', outcome: { kind: 'first', answer: answerOf(made.summary, made.key) } };
    },
  });
}
