import { type Answer, JSON_TYPE, PROBLEM_TYPE, type Problem, problemBody } from '../kernel/answer.ts';
import { explanationOf } from '../kernel/contract/api.ts';
import { AmbiguousError, AUTHORITY_CHANGED, PROCESSOR_ELSEWHERE, RetryableError } from '../kernel/faults.ts';

import type { GatewayRequest, GatewayResult } from './gateway-request.ts';
import { problem } from './problems.ts';

export interface ProblemExtras {
  readonly headers?: Readonly<Record<string, string>>;
  /** Extension members of the problem document. */
  readonly members?: Readonly<Record<string, unknown>>;
}

export function problemAnswer(found: Problem, requestId: string, { headers, members }: ProblemExtras = {}): Answer {
  return {
    status: found.status,
    headers: { 'content-type': PROBLEM_TYPE, ...headers },
    body: problemBody(found, requestId, members),
  };
}

export function jsonAnswer(body: Readonly<Record<string, unknown>>): Answer {
  return { status: 200, headers: { 'content-type': JSON_TYPE }, body: JSON.stringify(body) };
}

/** Returns whether a retry of the same request can succeed. */
export function isTransient(error: unknown): error is RetryableError | AmbiguousError {
  return error instanceof RetryableError || error instanceof AmbiguousError;
}

export function faultAnswer(error: unknown, requestId: string, method = 'POST'): Answer {
  const again = /^(?:GET|HEAD)$/.test(method)
    ? 'Retry.'
    : 'Retry with the same Idempotency-Key: the request takes effect at most once.';
  if (!isTransient(error)) return problemAnswer(problem('internal_error', `The service failed. ${again}`), requestId);
  const code = error.code.startsWith('processor_') ? 'processor_unavailable' : 'temporarily_unavailable';
  const detail = `${reasonOf(error)} ${again}`;
  const seconds = Math.max(1, Math.ceil(error.retryAfterSeconds ?? 1));
  return problemAnswer(problem(code, detail), requestId, { headers: { 'retry-after': String(seconds) } });
}

function reasonOf({ code, message }: RetryableError | AmbiguousError): string {
  if (code === PROCESSOR_ELSEWHERE) return message;
  return code === AUTHORITY_CHANGED
    ? 'The settings name a database that does not contain the payments. The operator must correct them.'
    : 'The request cannot be served at the moment.';
}

/**
 * A stored response refers to an object by its path from the root of the API. The caller receives this path relative to
 * the URL of the request, because only the caller knows the host, the stage and the base path. An absolute URL would be
 * wrong behind another domain, and would remain in stored responses.
 */
export function gatewayResult(
  answer: Answer,
  { requestId, root }: Pick<GatewayRequest, 'requestId' | 'root'>,
): GatewayResult {
  const headers: Record<string, string> = {
    'Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
  for (const [name, value] of Object.entries(answer.headers)) {
    headers[inTitleCase(name)] = name === 'location' ? value.replace(/^\//, root) : value;
  }
  return { statusCode: answer.status, headers, body: answer.body, isBase64Encoded: false };
}

/**
 * Adds links to the API documentation (RFC 8631), and replaces the `about:blank` of a problem document with the address
 * of its explanation. Both are relative, like `Location`, so a stored response contains no address. The address in the
 * body is computed from the documented path, not from the requested one, which may contain extra slashes. A replay
 * therefore has the same body.
 */
export function apiResult(answer: Answer, request: Pick<GatewayRequest, 'requestId' | 'root' | 'path'>): GatewayResult {
  const { root, path } = request;
  const documented = '../'.repeat(Math.max(0, path.length - 1)) || './';
  const body = answer.headers['content-type'] === PROBLEM_TYPE ? withType(answer.body, documented) : answer.body;
  const link = `<${root}v1/openapi.json>; rel="service-desc", <${root}docs>; rel="service-doc"`;
  return gatewayResult({ ...answer, body, headers: { ...answer.headers, link } }, request);
}

const UNTYPED = /^\{"type":"about:blank"(,"title":"[^"]*","status":\d+,"code":"(\w+)")/;

function withType(body: string, root: string): string {
  return body.replace(UNTYPED, (_text, members: string, code: string) => {
    return `{"type":"${root}${explanationOf(code)}"${members}`;
  });
}

function inTitleCase(name: string): string {
  return name.replaceAll(/(?:^|-)[a-z]/g, (start) => start.toUpperCase());
}
