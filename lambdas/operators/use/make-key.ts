import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import type { KeySummary, MadeKey, RecordOfKey } from '../../tenants/keys.ts';
import { type RecordedAct, type RecordedOutcome, type RecordTools, recordOnce } from './record-once.ts';

export interface MakeKey extends Pick<RecordedAct, 'operationId' | 'fingerprint'> {
  readonly status: 200 | 201;
  /** @returns undefined when nothing was written */
  readonly make: (recordOf: RecordOfKey) => Promise<MadeKey | undefined>;
  /** @param secret null in the stored response */
  readonly show: (key: KeySummary, secret: string | null) => Readonly<Record<string, unknown>>;
}

/**
 * The tables must never contain the secret, so the stored response, and thus the response to a retry, omits it.
 *
 * @throws RetryableError when nothing was written
 */
export async function makeKeyOnce(
  tools: RecordTools,
  { operationId, fingerprint, status, make, show }: MakeKey,
): Promise<RecordedOutcome> {
  const answerOf = (key: KeySummary, secret: string | null): Answer => ({
    status,
    headers: { 'content-type': JSON_TYPE },
    body: JSON.stringify(show(key, secret)),
  });
  return recordOnce(tools, {
    operationId,
    fingerprint,
    act: async (recordOf) => {
      const made = await make((key) => recordOf(answerOf(key, null)));
      return made === undefined ? undefined : answerOf(made.summary, made.key);
    },
  });
}
