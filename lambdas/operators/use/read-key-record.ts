import type { Answer } from '../../kernel/answer.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { IdempotencyKey } from '../../kernel/idempotency-key.ts';
import {
  type Mode,
  type OperationId,
  type OwnerToken,
  type PaymentId,
  storedOperationId,
  type TenantId,
} from '../../kernel/ids.ts';
import {
  type EarlierOwner,
  type IdempotencyRecord,
  isExpired,
  isLeased,
  type NotedCall,
} from '../../once/domain/idempotency.ts';
import type { RecordStore } from '../../once/use/record-store.ts';
import { deriveOrderId, orderOperation } from '../../orders/ids.ts';
import { deriveChangeId, derivePaymentId, parsePaymentId } from '../../payments/ids.ts';
import type { EffectStore } from '../../payments/use/effect-store.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import {
  deriveAnnotationId,
  deriveChangeRequestId,
  deriveCorrectionId,
  deriveDecisionId,
  deriveOperatorChangeId,
} from '../ids.ts';

export interface KeyRecordTools {
  readonly chains: Pick<PaymentStore, 'readPayment'>;
  readonly records: Pick<RecordStore, 'readRecord'>;
  readonly effects: Pick<EffectStore, 'readEffect'>;
  readonly digest: Digest;
}

export const KEY_STATES = ['in_progress', 'lease_ended', 'released', 'completed', 'expired'] as const;

/** Fields that do not apply to this kind of record are absent. */
export interface KeyRecord {
  readonly operationId: OperationId;
  readonly state: (typeof KEY_STATES)[number];
  readonly paymentId?: PaymentId;
  readonly owner?: OwnerToken;
  readonly earlier?: readonly EarlierOwner[];
  readonly calls?: readonly NotedCall[];
  readonly fingerprint?: Fingerprint;
  readonly claimedAtMs?: number;
  readonly changedAtMs?: number;
  readonly leaseExpiresAtMs?: number;
  /** Without personal data. */
  readonly answer?: Answer;
  /** Absent while the record is open, and on permanent records of effects. */
  readonly expiresAtSeconds?: number;
}

export type KeyOwner =
  | { readonly kind: 'tenant'; readonly tenantId: TenantId; readonly mode: Mode }
  | { readonly kind: 'operator'; readonly person: string };

/** Matches the request paths whose idempotency keys operators can inspect. */
export const KEYED_PATH =
  /^\/v1\/(?:payments(?:\/pay_[a-z2-7]{32}\/(?:capture|cancel|refunds))?|orders|admin\/(?:corrections|payments\/pay_[a-z2-7]{32}\/(?:resolve|annotations|capture|cancel|refunds)))$/;
const CHANGE_PATH = /^\/v1\/(?:admin\/)?payments\/(pay_[a-z2-7]{32})\/(capture|cancel|refunds)$/;
const CHANGES = { capture: 'capture', cancel: 'cancel', refunds: 'refund' } as const;
export function ownerKindOf(path: string): KeyOwner['kind'] {
  return path.startsWith('/v1/admin/') ? 'operator' : 'tenant';
}

/**
 * A look-up by key is impossible, because no row contains the key. An operator's change has a second id while it waits
 * for a second person.
 */
export function operationsOfKey(
  digest: Digest,
  owner: KeyOwner,
  request: { readonly path: string; readonly key: IdempotencyKey },
): readonly OperationId[] {
  const operation = operationOfKey(digest, owner, request);
  if (owner.kind === 'tenant' || !CHANGE_PATH.test(request.path)) return [operation];
  return [operation, deriveChangeRequestId(digest, { person: owner.person, method: 'POST', ...request })];
}

function operationOfKey(
  digest: Digest,
  owner: KeyOwner,
  { path, key }: { readonly path: string; readonly key: IdempotencyKey },
): OperationId {
  const of = { method: 'POST', path, key };
  const [, payment = '', step = ''] = CHANGE_PATH.exec(path) ?? [];
  const paymentId = parsePaymentId(payment);
  const change = CHANGES[step as keyof typeof CHANGES];
  if (owner.kind === 'operator') {
    const scope = { person: owner.person, ...of };
    if (paymentId !== undefined) return deriveOperatorChangeId(digest, change, paymentId, scope);
    if (path.endsWith('/resolve')) return deriveDecisionId(digest, scope);
    return path.endsWith('/annotations') ? deriveAnnotationId(digest, scope) : deriveCorrectionId(digest, scope);
  }
  const { tenantId, mode } = owner;
  const scope = { tenantId, mode, ...of };
  if (path === '/v1/orders') return orderOperation(deriveOrderId(digest, scope));
  if (paymentId === undefined) return storedOperationId(derivePaymentId(digest, scope));
  return deriveChangeId(digest, change, paymentId, scope);
}

/**
 * `CLAIMED` and `EFFECT` match the ids whose records operators may read. All other records are excluded, for example
 * those of requests for API keys and webhook secrets.
 */
const CLAIMED = /^(?:pay|ord)_[a-z2-7]{32}$|^(?:cap|can|ref|rtn)_[a-z2-7]{58}$/;
const EFFECT = /^(?:cor|dec|ann|cb|chr)_[a-z2-7]{32}$/;

/**
 * Strongly consistent.
 *
 * @param id the unvalidated id from the request
 * @returns undefined when there is no record; but for an existing payment whose record was deleted, a record in the
 * state `expired`
 * @throws RetryableError when the record cannot be read now
 */
export async function readKeyRecord(
  { records, effects, chains }: KeyRecordTools,
  id: string,
  nowMs: number,
): Promise<KeyRecord | undefined> {
  const operationId = storedOperationId(id);
  if (EFFECT.test(id)) {
    const effect = await effects.readEffect(operationId);
    if (effect === undefined) return undefined;
    const { owner, recordedAtMs, paymentId, request, expiresAtSeconds = request?.untilSeconds } = effect;
    const isOver = expiresAtSeconds !== undefined && expiresAtSeconds * 1000 <= nowMs;
    return {
      operationId,
      state: isOver ? 'expired' : 'completed',
      owner,
      changedAtMs: recordedAtMs,
      ...defined({ paymentId, fingerprint: request?.fingerprint }),
      ...(request === undefined || isOver ? {} : { answer: request.answer }),
      ...defined({ expiresAtSeconds }),
    };
  }
  if (!CLAIMED.test(id)) return undefined;
  const record = await records.readRecord(operationId);
  if (record !== undefined) return keyRecordOf(record, nowMs);
  const paymentId = parsePaymentId(id);
  const history = paymentId === undefined ? undefined : await chains.readPayment(paymentId);
  return paymentId === undefined || history === undefined ? undefined : { operationId, state: 'expired', paymentId };
}

function keyRecordOf(record: IdempotencyRecord, nowMs: number): KeyRecord {
  const { operationId, paymentId, owner, earlier, fingerprint, claimedAtMs, changedAtMs } = record;
  const base = {
    operationId,
    paymentId,
    owner,
    fingerprint,
    claimedAtMs,
    ...defined({ earlier, changedAtMs }),
  };
  if (record.status === 'INPROGRESS') {
    const open = isLeased(record, nowMs) ? 'in_progress' : 'lease_ended';
    return record.released
      ? { ...base, state: 'released' }
      : { ...base, state: open, leaseExpiresAtMs: record.leaseExpiresAtMs };
  }
  const { calls, answer, expiresAtSeconds } = record;
  const isOver = isExpired(record, nowMs);
  return {
    ...base,
    state: isOver ? 'expired' : 'completed',
    expiresAtSeconds,
    ...defined({ calls }),
    // Clients no longer receive an expired response, so operators do not receive it either.
    ...(isOver ? {} : { answer }),
  };
}
