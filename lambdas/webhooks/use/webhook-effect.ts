import type { Answer } from '../../kernel/answer.ts';
import { codeOf } from '../../kernel/faults.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type EffectRecord, type ExpiryOptions, expirySeconds } from '../../once/domain/idempotency.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { activeSecrets, endpointOf, type WebhookOwner } from '../domain/webhook-endpoint.ts';
import { sealedIn, unsealed } from './sealed-secret.ts';
import type { WebhookChange, WebhookSecrets, WebhookStore } from './webhooks.ts';

export interface WebhookTools extends Pick<ExpiryOptions, 'retention'> {
  readonly webhooks: WebhookStore;
  readonly secrets: WebhookSecrets;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

interface Decided {
  readonly kind: 'change';
  readonly change: Omit<WebhookChange, 'record'>;
  /** Response in which a placeholder replaces the secret. */
  readonly answer: Answer;
}

export interface WebhookEffect<Refusal> {
  readonly caller: WebhookOwner;
  /** Derived from tenant, mode, method, path and idempotency key. */
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  /**
   * Whether the record and its response are kept permanently.
   * @default they are kept for the retention of `events`
   */
  readonly isPermanent?: boolean;
  /** Called again when a row has changed since it was read. */
  readonly decide: () => Promise<Decided | Refusal>;
}

/**
 * If an earlier request with the key has taken effect, the outcome is `replay`, `payload_mismatch` or `key_expired`.
 */
export type WebhookEffectOutcome<Refusal> =
  | { readonly kind: 'first'; readonly answer: Answer }
  /** The stored response, with its secret if it has one. */
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  /** The secret in the stored response no longer signs, and its root key was removed. */
  | { readonly kind: 'key_expired' }
  | Refusal;

/**
 * Executes a request with an idempotency key so that it takes effect once: the record and the changed rows are written
 * in one transaction. A refusal is not stored, so the same key can succeed later. In the diagram, "list" is the row
 * with the tenant's endpoints, and its number is the revision:
 *
 *   A ── read list 3 ── decide ── record A ✓ list 4 ✓
 *   B ──── read list 3 ── decide ──── list 4 ✗ ── read list 4 ── decide ── record B ✓ list 5 ✓
 *
 * @throws RetryableError when nothing was written; the caller can retry with the same key
 * @throws AmbiguousError when the outcome of the write is unknown; a retry with the same key determines it
 */
export async function takeWebhookEffect<Refusal extends { readonly kind: string }>(
  tools: WebhookTools,
  effect: WebhookEffect<Refusal>,
): Promise<WebhookEffectOutcome<Refusal>> {
  const { webhooks, secrets, clock, entropy } = tools;
  const { operationId, fingerprint, isPermanent = false } = effect;
  const judge = async (record: EffectRecord): Promise<WebhookEffectOutcome<Refusal>> => {
    const judged = judgeEffect(record, fingerprint);
    if (judged.kind !== 'replay') return judged;
    try {
      return { ...judged, answer: await unsealed(secrets, judged.answer) };
    } catch (error) {
      // While the secret signs, its root key must exist, so a missing root key is a fault.
      if (codeOf(error) !== 'webhook_root_unknown' || (await signs(tools, effect, judged.answer))) throw error;
      return { kind: 'key_expired' };
    }
  };
  const done = (outcome: WebhookEffectOutcome<Refusal>) => ({ kind: 'done' as const, outcome });
  return commitOnce<undefined, WebhookEffectOutcome<Refusal>>(tools.runner, {
    operationId,
    find: async () => {
      const record = await webhooks.readEffect(operationId);
      return record === undefined ? undefined : judge(record);
    },
    prepare: async () => undefined,
    write: async () => {
      const decided = await effect.decide();
      if (!isChange(decided)) {
        // A concurrent copy of this request may have taken effect and caused the refusal.
        const record = await webhooks.readEffect(operationId);
        return done(record === undefined ? decided : await judge(record));
      }
      // Derive the secret before the write, because a secret that cannot be shown must not become active.
      const answer = await unsealed(secrets, decided.answer);
      const record = {
        operationId,
        owner: entropy.ownerToken(),
        recordedAtMs: clock.nowMs(),
        request: { fingerprint, answer: decided.answer },
        ...(isPermanent ? {} : { expiresAtSeconds: expirySeconds(tools, 'events', clock.nowMs()) }),
      };
      const outcome = await webhooks.write({ ...decided.change, record });
      if (outcome.kind === 'written') return done({ kind: 'first', answer });
      if (outcome.kind === 'recorded_before') return done(await judge(outcome.record));
      return { kind: 'again', prepared: undefined };
    },
  });
}

async function signs(
  { webhooks, clock }: Pick<WebhookTools, 'webhooks' | 'clock'>,
  { caller }: Pick<WebhookEffect<unknown>, 'caller'>,
  answer: Answer,
): Promise<boolean> {
  const sealed = sealedIn(answer);
  const endpoint = sealed && endpointOf(await webhooks.readBook(caller), sealed.endpointId);
  if (endpoint === undefined) return false;
  return activeSecrets(endpoint, clock.nowMs()).some(({ version }) => version === sealed?.version.version);
}

function isChange(decided: { readonly kind: string }): decided is Decided {
  return decided.kind === 'change';
}
