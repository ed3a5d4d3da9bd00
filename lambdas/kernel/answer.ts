/** An answer to a client, as it is stored and replayed verbatim: status, the relevant headers, and the body's text. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Placeholder in a stored answer for the fields that hold personal data, which are read from the details row when the
 * answer is replayed. In JSON text, a quotation mark inside a string is escaped, so no value can contain this text.
 */
const OMITTED = '"$details":0';

/**
 * Replaces personal fields of an answer with the placeholder, for storage.
 *
 * @param fields JSON text of the fields to leave out, without braces
 */
export function leaveOut(answer: Answer, fields: string): Answer {
  return { ...answer, body: answer.body.replace(fields, () => OMITTED) };
}

export function hasLeftOut({ body }: Answer): boolean {
  return body.includes(OMITTED);
}

export function putBack(answer: Answer, fields: string): Answer {
  return { ...answer, body: answer.body.replace(OMITTED, () => fields) };
}

/** Renders the fields of an object as JSON text, without braces. */
export function jsonFields(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(fields).slice(1, -1);
}

export const JSON_TYPE = 'application/json';
export const PROBLEM_TYPE = 'application/problem+json';

export interface Problem {
  readonly status: number;
  /** Stable, machine-readable code of the problem. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** The request field that is invalid. */
  readonly param?: string;
}

/** Builds the body of an error answer (RFC 9457); `extra` holds extension members. */
export function problemBody(
  problem: Problem,
  requestId: string,
  extra: Readonly<Record<string, unknown>> = {},
): string {
  const { status, code, title, detail, param } = problem;
  return JSON.stringify({
    type: 'about:blank',
    title,
    status,
    code,
    detail,
    ...defined({ param }),
    request_id: requestId,
    ...extra,
  });
}

import { defined } from './defined.ts';
