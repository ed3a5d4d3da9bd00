import { type Answer, JSON_TYPE } from '../../kernel/answer.ts';
import { defined } from '../../kernel/defined.ts';
import { invariant } from '../../kernel/invariant.ts';
import { shownReason } from '../../payments/domain/given-reason.ts';
import type { Annotation, TransitionDraft } from '../../payments/domain/payment.ts';
import type { PaymentState } from '../../payments/domain/payment-state.ts';
import type { Transition } from '../../payments/domain/transition.ts';

/** An operator's note about a payment, or about one of its transitions, which are immutable. */
export interface AnnotationRequest {
  readonly annotationId: string;
  readonly reason: string;
  readonly operator: string;
  /** @default the payment as a whole */
  readonly annotates?: number;
  /** The id of a charge that, according to the operator, does not exist at the processor. */
  readonly missingCharge?: string;
}

/** In order of precedence. */
export type AnnotationDecision =
  | { readonly kind: 'made_before' }
  | { readonly kind: 'nothing_to_annotate' }
  | { readonly kind: 'append'; readonly draft: TransitionDraft };

/**
 * Allowed in any payment status. An annotation posts nothing, and only increases the payment's annotation count. It is
 * a transition, so that the hash chain reveals its removal; a separate row would need a chain of its own.
 */
export function decideAnnotation(
  { annotationId, reason, operator, annotates, missingCharge }: AnnotationRequest,
  { payment, annotations }: PaymentState,
  transitions: readonly Transition[],
): AnnotationDecision {
  if (annotations.has(annotationId)) return { kind: 'made_before' };
  if (annotates !== undefined && annotates > transitions.length) return { kind: 'nothing_to_annotate' };
  const about = defined({ annotates, missingCharge });
  const subject: Annotation = { kind: 'annotation', annotationId, reason, operator, ...about };
  const annotated = { ...payment, annotations: annotations.size + 1 };
  return { kind: 'append', draft: { type: 'payment.annotated', payment: annotated, postings: [], subject } };
}

export function annotationAnswer(transition: Transition): Answer {
  return {
    status: 201,
    headers: { 'content-type': JSON_TYPE },
    body: JSON.stringify(annotationObject(transition)),
  };
}

export function annotationObject({ sequence, payment, subject, occurredAtMs }: Transition): Record<string, unknown> {
  invariant(subject?.kind === 'annotation', 'the subject of the transition is not an annotation');
  return {
    id: subject.annotationId,
    object: 'annotation',
    payment: payment.id,
    sequence,
    ...shownReason(subject),
    operator: subject.operator,
    annotates: subject.annotates ?? null,
    ...defined({ missing_charge: subject.missingCharge }),
    created: Math.floor(occurredAtMs / 1000),
  };
}
