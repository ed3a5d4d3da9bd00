import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import { type OperatorKeyScope, operatorParts } from '../kernel/idempotency-key.ts';
import type { OperationId, PaymentId } from '../kernel/ids.ts';
import { type ChangeKind, changeIdOf } from '../payments/ids.ts';

/** The same request always yields the same id. */
const fromRequest =
  (prefix: string) =>
  (digest: Digest, scope: OperatorKeyScope): OperationId =>
    `${prefix}${derivedCharacters(digest, operatorParts(scope))}` as OperationId;

export const deriveCorrectionId = fromRequest(OperationPrefix.correction);

export const deriveDecisionId = fromRequest(OperationPrefix.decision);

export const deriveAnnotationId = fromRequest(OperationPrefix.annotation);

/** For a change request that waits for a second person. */
export const deriveChangeRequestId = fromRequest(OperationPrefix.changeRequest);

export function deriveOperatorChangeId(
  digest: Digest,
  kind: ChangeKind,
  paymentId: PaymentId,
  scope: OperatorKeyScope,
): OperationId {
  return changeIdOf(digest, kind, paymentId, operatorParts(scope));
}

export const deriveKeyRequestId = fromRequest(OperationPrefix.keyRequest);

export const deriveLimitRequestId = fromRequest(OperationPrefix.limitRequest);

/** For a redrive or a dismissal. */
export const deriveQueueRequestId = fromRequest(OperationPrefix.redrive);

/** The id does not contain the payment's id, which is in the operation's idempotency record. */
const OPERATOR_EFFECT_ID = /^(?:cor|dec|ann)_[a-z2-7]{32}$/;

export function parseOperatorEffectId(text: string): OperationId | undefined {
  return OPERATOR_EFFECT_ID.test(text) ? (text as OperationId) : undefined;
}
