import { type Answer, jsonFields, omitDetails } from '../../kernel/answer.ts';
import type { Digest } from '../../kernel/digest.ts';
import { sealOf } from '../../kernel/sealed-details.ts';
import type {
  Annotation,
  Correction,
  GivenReason,
  HoldChange,
  OperatorDecision,
  OperatorRequest,
  Refund,
  Subject,
} from './payment.ts';

type Reasoned = Refund | Correction | OperatorDecision | OperatorRequest | Annotation;

/**
 * Lists the objects in a transition's subject that can have a reason, each with its id: the subject itself, an
 * operator's request for a capture or cancellation, and an operator's decision about a change.
 */
export function reasonsOf(subject: Subject | undefined): readonly { readonly id: string; readonly given: Reasoned }[] {
  switch (subject?.kind) {
    case 'refund':
      return [{ id: subject.refundId, given: subject }, ...reasonsOf(subject.decision)];
    case 'capture':
    case 'void':
      return [...requestOf(subject), ...reasonsOf(subject.decision)];
    case 'correction':
      return [{ id: subject.correctionId, given: subject }];
    case 'decision':
      return [{ id: subject.decisionId, given: subject }];
    case 'annotation':
      return [{ id: subject.annotationId, given: subject }];
    case 'dispute':
    case 'stray_charge':
    case undefined:
      return [];
  }
}

function requestOf({ operationId: id, request: given }: HoldChange): ReturnType<typeof reasonsOf> {
  return given === undefined ? [] : [{ id, given }];
}

/** Returns the subject with `map` applied to each part that can have a reason. */
export function mapReasons(subject: Subject, map: <Part extends Reasoned>(given: Part) => Part): Subject {
  switch (subject.kind) {
    case 'refund':
      return { ...map(subject), ...decided(subject, map) };
    case 'capture':
    case 'void':
      return {
        ...subject,
        ...(subject.request === undefined ? {} : { request: map(subject.request) }),
        ...decided(subject, map),
      };
    case 'correction':
    case 'decision':
    case 'annotation':
      return map(subject);
    case 'dispute':
    case 'stray_charge':
      return subject;
  }
}

function decided(
  { decision }: { readonly decision?: OperatorDecision },
  map: <Part extends Reasoned>(given: Part) => Part,
): { readonly decision?: OperatorDecision } {
  return decision === undefined ? {} : { decision: map(decision) };
}

/**
 * Returns the draft with a salt and a commitment (a seal) for each new reason.
 * @param salt fresh for each transition
 */
export function withSealedReasons<Draft extends { readonly subject?: Subject }>(
  digest: Digest,
  draft: Draft,
  salt: Uint8Array,
): Draft {
  const { subject } = draft;
  if (subject === undefined) return draft;
  const seal = <Part extends Reasoned>(given: Part): Part =>
    given.reason === undefined || given.commitment !== undefined
      ? given
      : { ...given, ...sealOf(digest, { reason: given.reason }, salt) };
  return { ...draft, subject: mapReasons(subject, seal) };
}

/**
 * Removes the salts of reasons whose details rows already exist. Without a salt, the next transition does not write the
 * row again, so an erasure stays final.
 */
export function withoutSalts(subject: Subject): Subject {
  return mapReasons(subject, (given) => {
    const { salt, ...rest } = given;
    return salt === undefined ? given : (rest as typeof given);
  });
}

/**
 * Returns the subject as the chain stores it: without salts, and without reasons that have a commitment. Both are in
 * details rows.
 */
export function withoutReasons(subject: Subject): Subject {
  return mapReasons(subject, (given) => {
    const { reason, salt: _salt, ...rest } = given;
    return (given.commitment === undefined && reason !== undefined ? { ...rest, reason } : rest) as typeof given;
  });
}

/**
 * Returns the fields of an API object that show a reason, in order. After an erasure, they show that the reason was
 * erased.
 */
export function shownReason({ reason, commitment }: GivenReason): Record<string, unknown> {
  const isErased = reason === undefined && commitment !== undefined;
  return { reason: reason ?? null, ...(isErased ? { details_erased: true } : {}) };
}

/**
 * Returns the fields of a response that contain the reason, as JSON text: those of `shownReason`. Returns undefined
 * when no reason was given, because the response then has no personal data of this kind.
 */
export function reasonFields(given: GivenReason): string | undefined {
  return given.commitment === undefined ? undefined : jsonFields(shownReason(given));
}

/**
 * Returns a response as it is stored, without its personal data. @param fields JSON text of the fields with personal
 * data, if there are any
 */
export function withoutPersonalFields(answer: Answer, fields: string | undefined): Answer {
  return fields === undefined ? answer : omitDetails(answer, fields);
}
