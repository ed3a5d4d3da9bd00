import { defined } from '../../kernel/defined.ts';
import { reasonFields } from '../../payments/domain/given-reason.ts';
import { type AnnotationDecision, annotationAnswer, decideAnnotation } from '../domain/annotation.ts';
import { type KeyedEffectOutcome, type KeyedEffectTools, type OperatorRequest, takeEffect } from './keyed-effect.ts';

export interface AnnotatePayment extends Omit<OperatorRequest, 'asked'> {
  /** @default the payment as a whole */
  readonly annotates?: number;
  /** As in `AnnotationRequest`. */
  readonly missingCharge?: string;
}

export type AnnotationRefusal = Exclude<AnnotationDecision, { kind: 'append' | 'made_before' }>;

/**
 * An annotation moves no money, so no second person approves it.
 *
 * @throws as `takeEffect`
 */
export async function annotatePayment(
  tools: KeyedEffectTools,
  { annotates, missingCharge, ...request }: AnnotatePayment,
): Promise<KeyedEffectOutcome<AnnotationRefusal>> {
  const { operationId: annotationId, reason, by } = request;
  const about = defined({ annotates, missingCharge });
  return takeEffect<AnnotationRefusal>(tools, {
    ...request,
    action: 'annotation.made',
    recordedReason: ({ state }) => state.annotations.get(annotationId)?.reason,
    decide: ({ state, transitions }) =>
      decideAnnotation({ annotationId, reason, operator: by.name, ...about }, state, transitions),
    answer: annotationAnswer,
    personalFields: ({ state }) => reasonFields(state.annotations.get(annotationId) ?? {}),
  });
}
