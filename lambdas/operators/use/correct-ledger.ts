import type { OperationId } from '../../kernel/ids.ts';
import { reasonFields } from '../../payments/domain/given-reason.ts';
import type { Asked } from '../domain/approval.ts';
import { type CorrectionDecision, correctionAnswer, decideCorrection } from '../domain/correction.ts';
import {
  type EffectOfRequest,
  type KeyedEffectOutcome,
  type KeyedEffectTools,
  type OperatorRequest,
  type Preview,
  previewEffect,
  takeEffect,
} from './keyed-effect.ts';

export type RequestedCorrection = Extract<Asked, { readonly kind: 'correction' }>;

export type CorrectLedger = OperatorRequest<RequestedCorrection>;

export type CorrectionRefusal = Exclude<CorrectionDecision, { kind: 'append' | 'made_before' }>;

export type CorrectLedgerOutcome = KeyedEffectOutcome<CorrectionRefusal>;

/** @throws as `previewEffect` */
export async function previewCorrection(
  tools: Pick<KeyedEffectTools, 'effects' | 'approvals'>,
  { payment, ...request }: Pick<CorrectLedger, 'payment' | 'reason' | 'by' | 'asked'>,
): Promise<Preview | { readonly kind: 'not_found' } | CorrectionRefusal> {
  return previewEffect<CorrectionRefusal>(tools, {
    payment,
    asked: request.asked,
    decide: correctionEffect(request, '').decide,
  });
}

/** @throws as `takeEffect` */
export async function correctLedger(tools: KeyedEffectTools, request: CorrectLedger): Promise<CorrectLedgerOutcome> {
  return takeEffect<CorrectionRefusal>(tools, { ...request, ...correctionEffect(request, request.operationId) });
}

/** @param correctionId an empty string for a preview */
export function correctionEffect(
  { asked: { change }, reason, by }: Pick<CorrectLedger, 'asked' | 'reason' | 'by'>,
  correctionId: OperationId | '',
): EffectOfRequest<CorrectionRefusal> {
  return {
    action: 'correction.made',
    recordedReason: ({ state }) => state.corrections.get(correctionId)?.reason,
    decide: (chain) => decideCorrection({ correctionId, reason, operator: by.name, change }, chain),
    answer: correctionAnswer,
    personalFields: ({ state }) => reasonFields(state.corrections.get(correctionId) ?? {}),
  };
}
