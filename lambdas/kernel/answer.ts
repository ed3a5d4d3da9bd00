/** What a client gets, and what is stored and replayed verbatim: status, the headers that carry meaning, and the body's text. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export const JSON_TYPE = 'application/json';
export const PROBLEM_TYPE = 'application/problem+json';

export interface Problem {
  readonly status: number;
  /** Stable and machine readable. */
  readonly code: string;
  readonly title: string;
  readonly detail: string;
  /** The field at fault. */
  readonly param?: string;
}

/** The body of an error (RFC 9457); `extra` holds extension members. */
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
    ...(param === undefined ? {} : { param }),
    request_id: requestId,
    ...extra,
  });
}
