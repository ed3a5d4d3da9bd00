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

/** @param salt fresh for each transition */
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

/** Reasons with a commitment and all salts are in details rows. */
export function withoutReasons(subject: Subject): Subject {
  return mapReasons(subject, (given) => {
    const { reason, salt: _salt, ...rest } = given;
    return (given.commitment === undefined && reason !== undefined ? { ...rest, reason } : rest) as typeof given;
  });
}

export function shownReason({ reason, commitment }: GivenReason): Record<string, unknown> {
  const isErased = reason === undefined && commitment !== undefined;
  return { reason: reason ?? null, ...(isErased ? { details_erased: true } : {}) };
}

/** Undefined when no reason was given, because the response then has no personal data of this kind. */
export function reasonFields(given: GivenReason): string | undefined {
  return given.commitment === undefined ? undefined : jsonFields(shownReason(given));
}

/** @param fields JSON text of the fields with personal data, if there are any */
export function withoutPersonalFields(answer: Answer, fields: string | undefined): Answer {
  return fields === undefined ? answer : omitDetails(answer, fields);
}
