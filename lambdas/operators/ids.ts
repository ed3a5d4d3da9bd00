import { OperationPrefix } from '../kernel/contract/rows.ts';
import { type Digest, derivedLetters } from '../kernel/digest.ts';
import { type OperatorKeyScope, operatorParts } from '../kernel/idempotency-key.ts';
import type { OperationId } from '../kernel/ids.ts';

/** An id with this prefix that is derived from an operator's request: the same request always has the same id. */
const fromRequest =
  (prefix: string) =>
  (digest: Digest, scope: OperatorKeyScope): OperationId =>
    `${prefix}${derivedLetters(digest, operatorParts(scope))}` as OperationId;

/** The correction that this request makes. */
export const deriveCorrectionId = fromRequest(OperationPrefix.correction);

/** The operator's decision that this request records. */
export const deriveDecisionId = fromRequest(OperationPrefix.decision);

/** The annotation that this request makes. */
export const deriveAnnotationId = fromRequest(OperationPrefix.annotation);

/** The request that makes a key. */
export const deriveKeyRequestId = fromRequest(OperationPrefix.keyRequest);

/** The request that changes a limit of a tenant. */
export const deriveLimitRequestId = fromRequest(OperationPrefix.limitRequest);

/** The request that redrives a queue. */
export const deriveRedriveId = fromRequest(OperationPrefix.redrive);

/**
 * The id of a correction, a decision or an annotation. It does not contain the payment's id; the record of its
 * operation does.
 */
const OPERATOR_EFFECT_ID = /^(?:cor|dec|ann)_[a-z2-7]{32}$/;

/** @returns undefined when `text` is not of the form of the id of a correction, a decision or an annotation */
export function parseOperatorEffectId(text: string): OperationId | undefined {
  return OPERATOR_EFFECT_ID.test(text) ? (text as OperationId) : undefined;
}
