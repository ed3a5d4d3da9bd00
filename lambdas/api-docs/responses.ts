import * as z from 'zod';
import captured from '../../generated/api-examples.json' with { type: 'json' };
import { OWNER } from '../http/for-tenant.ts';
import { PROBLEMS, type ProblemCode } from '../http/problems.ts';
import { MEANINGS } from './problem-meanings.ts';
import { problem } from './problem-schema.ts';

export const COMMON_PROBLEMS: readonly ProblemCode[] = [
  'forbidden',
  'not_found',
  'method_not_allowed',
  'rate_limited',
  'internal_error',
  'temporarily_unavailable',
  'timeout',
];

/** Problem codes of every route whose callers authenticate, with an API key, an operator's key or a token. */
export const CALLER_PROBLEMS: readonly ProblemCode[] = [
  'unknown_parameter',
  'card_number_not_allowed',
  'secret_not_allowed',
  'unauthorized',
];

/** Routes return `idempotency_key_expired` only if stored responses are deleted after their retention. */
export const KEY_PROBLEMS: readonly ProblemCode[] = [
  'missing_idempotency_key',
  'invalid_idempotency_key',
  'idempotency_key_expired',
  'idempotency_key_payload_mismatch',
];

export const BODY_PROBLEMS: readonly ProblemCode[] = [
  'body_too_large',
  'unsupported_media_type',
  'invalid_json',
  'unknown_field',
  'invalid_request',
];

const requestId = z.string().meta({
  description: 'The id of this request in the service’s logs.',
  header: { id: 'Request-Id' },
});

const documents = z
  .string()
  .optional()
  .meta({
    description:
      'The URLs of this document (`service-desc`) and of its page (`service-doc`), relative to the URL of the request.',
    example: '<../v1/openapi.json>; rel="service-desc", <../docs>; rel="service-doc"',
    header: { id: 'Link' },
  });

/** Problems that the gateway itself returns have no `Link` header. */
export const EVERY_ANSWER = { 'Request-Id': requestId, Link: documents };

export const location = z.string().meta({
  description: 'The URL of the object, relative to the URL of the request (RFC 9110, section 10.2.2).',
  example: '../v1/payments/pay_jryp727fewpudzxvuorpnf7r2kpjwlfg',
  header: { id: 'Location' },
});

export const replayed = z
  .literal('true')
  .optional()
  .meta({
    description: 'Present if this is a stored response to an earlier request with the same key.',
    header: { id: 'Idempotency-Replayed' },
  });

export const preferWait = z
  .string()
  .optional()
  .meta({
    description:
      '`wait=N`: if the first request with this key is still running, wait up to N seconds for its response. The maximum is 8.',
    example: 'wait=8',
    param: { id: 'Prefer' },
  });

export const preferenceApplied = z
  .string()
  .optional()
  .meta({
    description: 'The preference that was honored.',
    example: 'wait=8',
    header: { id: 'Preference-Applied' },
  });

/** @param promise the promise about a retried request, for example `nothing happens twice` */
export const idempotencyKey = (thing: string, promise: string, more = '') =>
  z
    .string()
    .regex(KEY_FORM)
    .meta({
      description:
        `Identifies this ${thing}. A request that is repeated with the same key and body gets the same response, and ` +
        `${promise}. 1 to 128 visible ASCII characters, raw or as a quoted string, for example a UUID.${more}`,
      example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
    });

export const payonceTenant = z.string().regex(OWNER).optional().meta({
  description:
    'Only for operators: the tenant and the mode of the request. Callers with an API key must not send this header.',
  example: 'ten_desk/live',
});

/** Matches a raw key, or a quoted string (RFC 8941, section 3.3.3), as in lambdas/kernel/idempotency-key.ts. */
const KEY_FORM = /^(?:[!#-~][!-~]{0,127}|"(?:[!#-[\]-~]|\\["\\]){1,128}")$/;

const retryAfter = z
  .int()
  .min(0)
  .optional()
  .meta({ description: 'The time after which to retry, in seconds.', example: 1, header: { id: 'Retry-After' } });
const allow = z
  .string()
  .optional()
  .meta({ description: 'The methods that this path supports.', example: 'GET, HEAD', header: { id: 'Allow' } });

const rateLimit = z
  .string()
  .optional()
  .meta({
    description:
      'The exhausted limit: no requests are left (`r=0`), and more are available in `t` seconds (draft-ietf-httpapi-ratelimit-headers-11).',
    example: '"payments";r=0;t=1',
    header: { id: 'RateLimit' },
  });
const rateLimitPolicy = z
  .string()
  .optional()
  .meta({
    description: 'The tenant’s limit: `q` requests in `w` seconds.',
    example: '"payments";q=200;w=2',
    header: { id: 'RateLimit-Policy' },
  });

const PROBLEM_HEADERS: Readonly<Record<number, z.ZodRawShape>> = {
  402: { 'Idempotency-Replayed': replayed, 'Preference-Applied': preferenceApplied },
  403: { 'Preference-Applied': preferenceApplied },
  405: { Allow: allow },
  409: { 'Retry-After': retryAfter, 'Idempotency-Replayed': replayed, 'Preference-Applied': preferenceApplied },
  422: { 'Preference-Applied': preferenceApplied },
  429: { 'Retry-After': retryAfter, RateLimit: rateLimit, 'RateLimit-Policy': rateLimitPolicy },
  503: { 'Retry-After': retryAfter, 'Preference-Applied': preferenceApplied },
};

export type Examples = Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;

/** Examples that `npm run generate` captures from the handlers (`test/api-docs/capture-examples.ts`). */
const problems: Readonly<Partial<Record<string, object>>> = captured.problems;

/** Each is a component of the document. */
const problemExamples = Object.fromEntries(
  Object.entries(PROBLEMS).map(([code, { title }]) => [code, { id: code, summary: title, value: problems[code] }]),
);

type StatusCode = `${4 | 5}${string}`;

export function problemResponses(named: readonly ProblemCode[]) {
  const codes = [...new Set(named)];
  const statuses = [...new Set(codes.map((code) => PROBLEMS[code].status))].sort((left, right) => left - right);
  return Object.fromEntries(
    statuses.map((status) => [
      String(status) as StatusCode,
      problemResponse(
        status,
        codes.filter((code) => PROBLEMS[code].status === status),
      ),
    ]),
  );
}

const made = new Map<string, ReturnType<typeof makeResponse>>();

/** Returns the same object for the same codes, so that the document contains it once. */
function problemResponse(status: number, codes: readonly ProblemCode[]) {
  const name = codes.toSorted().join(' ');
  const response = made.get(name) ?? makeResponse(status, codes);
  made.set(name, response);
  return response;
}

function makeResponse(status: number, codes: readonly ProblemCode[]) {
  const [first, ...others] = codes;
  const examples = Object.fromEntries(codes.map((code) => [code, problemExamples[code]]));
  return {
    description: codes.map((code) => `- \`${code}\`: ${MEANINGS[code]}`).join('\n'),
    headers: z.object({ ...EVERY_ANSWER, ...PROBLEM_HEADERS[status] }),
    content: { 'application/problem+json': { schema: problem, examples } },
    // A response with a single code is a component.
    ...(first === undefined || others.length > 0 ? {} : { id: first }),
  };
}
