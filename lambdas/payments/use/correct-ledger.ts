import type { OperatorCause } from '../../kernel/cause.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import {
  type CorrectionDecision,
  type CorrectionRequest,
  correctionAnswer,
  decideCorrection,
} from '../domain/correction.ts';
import { reasonFields } from '../domain/given-reason.ts';
import {
  type KeyedEffectOutcome,
  type KeyedEffectTools,
  type Preview,
  previewEffect,
  takeEffect,
} from './keyed-effect.ts';

export interface CorrectLedger extends Omit<CorrectionRequest, 'correctionId'> {
  readonly cause: OperatorCause;
  /** Derived from operator, method, path and idempotency key. It is also the id of the correction. */
  readonly operationId: OperationId;
  /** Of the request without the reason. */
  readonly fingerprint: Fingerprint;
  /** The payment id from the request, not yet parsed. */
  readonly payment: string;
}

type CorrectionRefusal = Exclude<CorrectionDecision, { kind: 'append' | 'made_before' }>;

export type CorrectLedgerOutcome = KeyedEffectOutcome<CorrectionRefusal>;

/** What the correction would post. Nothing is written. @throws as `previewEffect` */
export async function previewCorrection(
  tools: Pick<KeyedEffectTools, 'effects'>,
  request: Pick<CorrectLedger, 'payment' | 'reason' | 'operator' | 'change'>,
): Promise<Preview | { readonly kind: 'not_found' } | CorrectionRefusal> {
  return previewEffect<CorrectionRefusal>(tools, {
    ...request,
    decide: (chain) => decideCorrection({ ...request, correctionId: '' }, chain),
  });
}

/** Adds a correction to a payment's chain, exactly once. @throws as `takeEffect` */
export async function correctLedger(tools: KeyedEffectTools, request: CorrectLedger): Promise<CorrectLedgerOutcome> {
  const { cause, operationId, fingerprint, payment, reason } = request;
  return takeEffect<CorrectionRefusal>(tools, {
    cause,
    action: 'correction.made',
    operationId,
    fingerprint,
    payment,
    reason,
    recordedReason: ({ state }) => state.corrections.get(operationId)?.reason,
    decide: (chain) => decideCorrection({ ...request, correctionId: operationId }, chain),
    answer: correctionAnswer,
    personalFields: ({ state }) => reasonFields(state.corrections.get(operationId) ?? {}),
  });
}
