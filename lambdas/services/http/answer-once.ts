import type { GatewayRequest } from '../../http/gateway-request.ts';
import { faultAnswer, isTransient, problemAnswer } from '../../http/http-answer.ts';
import { inProgress, payloadMismatch, replayed } from '../../http/keyed-request.ts';
import { type ProblemCode, problem } from '../../http/problems.ts';
import { parseStrictJson } from '../../http/strict-json.ts';
import type { Answer } from '../../kernel/answer.ts';
import type { Digest } from '../../kernel/digest.ts';
import { type Fingerprint, fingerprintOf } from '../../kernel/fingerprint.ts';
import { parseIdempotencyKey } from '../../kernel/idempotency-key.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { Executed } from '../../once/use/execute-once.ts';
import { serviceOperation } from '../ids.ts';
import { check } from '../options.ts';
import { type Expired, FencedError, NotStored } from '../use/run-request.ts';

/** A request to one of the team's own services, with its body as text. */
export type ServiceCall = Pick<GatewayRequest, 'requestId' | 'method' | 'header' | 'query' | 'body'> & {
  /** The resolved path, with ids instead of placeholders. */
  readonly resolvedPath: string;
  /**
   * Identifies the caller, because each caller has separate idempotency keys. Empty when the route has only one caller.
   */
  readonly caller: string;
};

export interface KeyedCall {
  readonly key: string;
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
}

/**
 * Responds to a request that needs an idempotency key. The first request gets the handler's response, and a repetition
 * gets the stored response. The response is 400 if the key is missing, or the key or the body is invalid; 409 while the
 * first request is in progress, or after the key has expired; and 422 if the key was used with a different body or
 * query. Transient faults result in 503; all other errors are thrown.
 *
 * @throws Error if the caller is not a string
 */
export async function answerOnce(
  digest: Digest,
  scope: string,
  call: ServiceCall,
  run: (call: KeyedCall) => Promise<Executed<Expired>>,
): Promise<Answer> {
  const { requestId, method, resolvedPath, caller } = call;
  // In Hono, `c.get` can return undefined. All such callers would share their keys, and get each other's responses.
  check(typeof caller === 'string', 'caller', caller, 'must be a string');
  const refuse = (code: ProblemCode, detail: string): Answer => problemAnswer(problem(code, detail), requestId);
  const key = parseIdempotencyKey(call.header('idempotency-key'));
  if (key.kind === 'missing') return refuse('missing_idempotency_key', 'Send an Idempotency-Key header.');
  if (key.kind === 'invalid') return refuse('invalid_idempotency_key', `The key is not valid: ${key.reason}.`);
  const body = bodyOf(call);
  if (body.kind === 'refused') return problemAnswer(body.problem, requestId);
  const operationId = serviceOperation(digest, [scope, caller, method, resolvedPath, key.key]);
  const fingerprint = fingerprintOf(digest, { body: body.value, query: Object.fromEntries(call.query) });
  try {
    const outcome = await run({ key: key.key, operationId, fingerprint });
    switch (outcome.kind) {
      case 'first':
        return outcome.answer;
      case 'replay':
        return replayed(outcome.answer);
      case 'in_progress':
        return inProgress(requestId);
      case 'payload_mismatch':
        return payloadMismatch(requestId);
      case 'key_expired':
        return refuse(
          'idempotency_key_expired',
          'The stored response of this key has expired. The request is not executed again.',
        );
    }
  } catch (error) {
    if (error instanceof NotStored) return error.answer;
    if (error instanceof FencedError) return inProgress(requestId);
    if (isTransient(error)) return faultAnswer(error, requestId);
    throw error;
  }
}

/**
 * JSON is compared by its meaning, so that a retry may order its fields differently. Other text is compared verbatim.
 */
function bodyOf({ header, body }: ServiceCall) {
  const isJson = header('content-type').some((type) => /^application\/(?:[\w.-]+\+)?json\b/i.test(type));
  return isJson && body !== '' ? parseStrictJson(body) : { kind: 'valid' as const, value: body };
}
