import * as z from 'zod';
import { PROBLEMS, type ProblemCode } from '../http/problems.ts';
import { problem } from './answer-schemas.ts';
import captured from './examples.json' with { type: 'json' };

/** Problems that every route may answer with. */
export const ALWAYS: readonly ProblemCode[] = [
  'unknown_parameter',
  'unauthorized',
  'insufficient_scope',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'rate_limited',
  'internal_error',
  'temporarily_unavailable',
  'timeout',
];

/** Problems of every route that takes a body under a key. */
export const OF_POST: readonly ProblemCode[] = [
  'missing_idempotency_key',
  'invalid_idempotency_key',
  'body_too_large',
  'unsupported_media_type',
  'invalid_json',
  'card_number_not_allowed',
  'secret_not_allowed',
  'unknown_field',
  'invalid_request',
  'idempotency_key_expired',
  'idempotency_key_payload_mismatch',
];

export const requestId = z.string().meta({ description: 'Names this request in the logs of the service.' });
const alwaysSent = z.object({ 'Request-Id': requestId });

export const replayed = z
  .literal('true')
  .optional()
  .meta({ description: 'This is the answer that was stored when the key was first used.' });

export const preferWait = z.string().optional().meta({
  description: '`wait=N`: while a request with this key is running elsewhere, wait for its answer, at most 8 seconds.',
  example: 'wait=8',
});

export const preferenceApplied = z.string().optional().meta({ example: 'wait=8' });

/**
 * @param thing what the key names
 * @param promise what does not happen when it is sent again
 * @param more what else there is to know of it
 */
export const idempotencyKey = (thing: string, promise: string, more = '') =>
  z
    .string()
    .min(1)
    .max(128)
    .meta({
      description:
        `Names this ${thing}, for ever: a request that is sent again with the same key and body gets the same answer, and ` +
        `${promise}. 1 to 128 visible ASCII characters, raw or as a quoted string; a UUID is good.${more}`,
      example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
    });

const retryAfter = z.string().optional().meta({ description: 'When to ask again, in seconds.', example: '1' });

/** Headers that problems of a status may carry. */
const PROBLEM_HEADERS: Readonly<Record<number, z.ZodRawShape>> = {
  401: { 'WWW-Authenticate': z.string().optional() },
  402: { 'Idempotency-Replayed': replayed },
  405: { Allow: z.string().optional() },
  409: { 'Retry-After': retryAfter, 'Idempotency-Replayed': replayed },
  429: { 'Retry-After': retryAfter },
  503: { 'Retry-After': retryAfter },
};

export type Examples = Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;

export const shown = (description: string, schema: z.ZodType, examples: Examples) => ({
  description,
  headers: alwaysSent,
  content: { 'application/json': { schema, examples } },
});

/** Captured from the handlers by `npm run docs:tables` (`test/api-docs/capture-examples.ts`). */
const problems: Readonly<Record<ProblemCode, { readonly title: string }>> = captured.problems;

type StatusCode = `${4 | 5}${string}`;

/** One response for each status, which lists its codes and what they mean. */
export function problemResponses(codes: readonly ProblemCode[]) {
  const statuses = [...new Set(codes.map((code) => PROBLEMS[code].status))].sort((left, right) => left - right);
  return Object.fromEntries(
    statuses.map((status) => {
      const answered = codes.filter((code) => PROBLEMS[code].status === status);
      const described = answered.map((code) => `- \`${code}\`: ${PROBLEMS[code].meaning}`);
      const examples = Object.fromEntries(
        answered.map((code) => [code, { summary: problems[code].title, value: problems[code] }]),
      );
      const content = { 'application/problem+json': { schema: problem, examples } };
      const headers = z.object({ 'Request-Id': requestId, ...PROBLEM_HEADERS[status] });
      return [String(status) as StatusCode, { description: described.join('\n'), headers, content }];
    }),
  );
}
