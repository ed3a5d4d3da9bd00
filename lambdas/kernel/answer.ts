/** An HTTP response. A replay sends the stored one again, with its personal data and the header of a replay. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Placeholder in a stored response for the fields with personal data. A replay reads these fields from the details row.
 * JSON escapes quotation marks inside strings, so no value can contain this text.
 */
const OMITTED = '"$details":0';

/** @param fields JSON text of the fields to omit, without braces */
export function omitDetails(answer: Answer, fields: string): Answer {
  return { ...answer, body: answer.body.replace(fields, () => OMITTED) };
}

export function hasOmittedDetails({ body }: Answer): boolean {
  return body.includes(OMITTED);
}

export function restoreDetails(answer: Answer, fields: string): Answer {
  return { ...answer, body: answer.body.replace(OMITTED, () => fields) };
}

/** Without braces. */
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
  readonly param?: string;
}

/** Builds the body of an error response (RFC 9457); `extra` holds extension members. */
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
