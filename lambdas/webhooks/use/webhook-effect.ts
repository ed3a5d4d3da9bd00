import type { Answer } from '../../kernel/answer.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import { isSameRequest } from '../../once/use/judge-record.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { unsealed } from './sealed-secret.ts';
import type { WebhookChange, WebhookSecrets, WebhookStore } from './webhooks.ts';

export interface WebhookTools {
  readonly webhooks: WebhookStore;
  readonly secrets: WebhookSecrets;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/** What a request under an idempotency key is to change, and the answer that is stored with it. */
interface Decided {
  readonly kind: 'change';
  readonly change: Omit<WebhookChange, 'record'>;
  /** With secrets sealed. */
  readonly answer: Answer;
}

export interface WebhookEffect<Refusal> {
  /** Derived from tenant, mode, method, path and idempotency key. */
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  /** Reads and decides; asked again when what it read has changed. */
  readonly decide: () => Promise<Decided | Refusal>;
}

/** In order of precedence. */
export type WebhookEffectOutcome<Refusal> =
  | { readonly kind: 'first'; readonly answer: Answer }
  /** The stored answer, with its secret if it has one. */
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | Refusal;

/** Races are decided again this often before the caller is asked to come back. */
const MAX_ROUNDS = 5;

/**
 * Takes effect once: record and rows are written together. A refusal is answered and not kept, so the same key may succeed
 * later.
 *
 *   A ── read book 3 ── decide ── record A ✓ book 4 ✓
 *   B ──── read book 3 ── decide ──── book 4 ✗ ── read book 4 ── decide ── record B ✓ book 5 ✓
 *
 * @throws RetryableError when nothing happened and the same key may be used again
 * @throws AmbiguousError when the store did not say whether it wrote; the same key finds out
 */
export async function takeWebhookEffect<Refusal extends { readonly kind: string }>(
  tools: WebhookTools,
  effect: WebhookEffect<Refusal>,
): Promise<WebhookEffectOutcome<Refusal>> {
  const { webhooks, secrets, clock, entropy } = tools;
  const { operationId, fingerprint } = effect;
  const judge = async ({ request }: EffectRecord): Promise<WebhookEffectOutcome<Refusal>> => {
    invariant(request !== undefined, 'a request under a key is recorded with its answer');
    if (!isSameRequest(request.fingerprint, fingerprint)) return { kind: 'payload_mismatch' };
    return { kind: 'replay', answer: await unsealed(secrets, request.answer) };
  };
  return tools.runner.record<undefined, WebhookEffectOutcome<Refusal>>(operationId, {
    find: async () => {
      const record = await webhooks.readEffect(operationId);
      return record === undefined ? undefined : judge(record);
    },
    prepare: async () => undefined,
    commit: async () => {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        const decided = await effect.decide();
        if (!isChange(decided)) return decided;
        // Before the write: a secret that cannot be shown must not come into force.
        const answer = await unsealed(secrets, decided.answer);
        const record = {
          operationId,
          owner: entropy.ownerToken(),
          recordedAtMs: clock.nowMs(),
          // Never forgotten: its key must not make a second one when the first has been deleted.
          request: { fingerprint, answer: decided.answer },
        };
        const outcome = await webhooks.write({ ...decided.change, record });
        if (outcome.kind === 'written') return { kind: 'first', answer };
        if (outcome.kind === 'recorded_before') return judge(outcome.record);
      }
      throw new RetryableError('contention', 'too many changes at once', { retryAfterSeconds: 1 });
    },
  });
}

function isChange(decided: { readonly kind: string }): decided is Decided {
  return decided.kind === 'change';
}
