import type * as z from 'zod';
import type { Answer } from '../kernel/answer.ts';
import type { Digest } from '../kernel/digest.ts';
import { type Fingerprint, fingerprintOf } from '../kernel/fingerprint.ts';
import { type IdempotencyKey, type KeyScope, parseIdempotencyKey } from '../kernel/idempotency-key.ts';
import type { RequestCount } from '../kernel/platform/telemetry.ts';
import type { Caller } from '../tenants/authenticate.ts';
import type { GatewayRequest } from './gateway-request.ts';
import { problemAnswer } from './http-answer.ts';
import { type JsonObject, readJsonObject } from './json-body.ts';
import { type Parsed, problem, refused, valid } from './problems.ts';
import { emptyQuery, validateBody, validateQuery } from './validate.ts';

export interface KeyedRequest<Body> {
  readonly key: IdempotencyKey;
  readonly body: Body;
  /**
   * Fingerprint of the query and the body as sent: without defaults, and without the personal fields that
   * `readKeyedRequest` excludes.
   */
  readonly fingerprint: Fingerprint;
}

/**
 * If an operator calls for a tenant, the stored key cannot equal a key of the tenant or of another operator: it
 * identifies the operator, and contains spaces, which a sent key cannot contain.
 */
export function ownKey(
  { tenantId, mode, person }: Pick<Caller, 'tenantId' | 'mode' | 'person'>,
  key: IdempotencyKey,
): Pick<KeyScope, 'tenantId' | 'mode' | 'key'> {
  return { tenantId, mode, key: person === undefined ? key : (`operator ${person} ${key}` as IdempotencyKey) };
}

/**
 * @param readBody parses the body; decides whether the body may be absent
 * @param leftOut personal fields that the fingerprint must not cover, because it is stored permanently
 */
export function readKeyedRequest<Body>(
  digest: Digest,
  request: GatewayRequest,
  schema: z.ZodType<Body>,
  readBody: (request: GatewayRequest) => Parsed<JsonObject>,
  leftOut: readonly string[],
): Parsed<KeyedRequest<Body>> {
  const key = readIdempotencyKey(request);
  if (key.kind === 'refused') return key;
  const read = readBodyWithoutQuery(request, schema, readBody);
  if (read.kind === 'refused') return read;
  const { sent, body } = read.value;
  const fingerprint = fingerprintOfSent(digest, sent, leftOut, Object.fromEntries(request.query));
  return valid({ key: key.value, body, fingerprint });
}

export function fingerprintOfSent(
  digest: Digest,
  sent: JsonObject,
  leftOut: readonly string[],
  query: Readonly<Record<string, readonly string[]>> = {},
): Fingerprint {
  const body = Object.fromEntries(Object.entries(sent).filter(([name]) => !leftOut.includes(name)));
  return fingerprintOf(digest, { body, query });
}

/**
 * Nothing is stored for a dry run, so the request needs no key. If a key is sent, it is not used up: the later request
 * that takes effect can use it.
 *
 * @returns undefined when the request is not a dry run
 */
export function readDryRun<Body>(request: GatewayRequest, schema: z.ZodType<Body>): Parsed<Body> | undefined {
  const sent = readJsonObject(request);
  if (sent.kind === 'refused' || sent.value['dry_run'] !== true) return undefined;
  const read = readBodyWithoutQuery(request, schema, readJsonObject);
  return read.kind === 'refused' ? read : valid(read.value.body);
}

export function readBodyWithoutQuery<Body>(
  request: GatewayRequest,
  schema: z.ZodType<Body>,
  readBody: (request: GatewayRequest) => Parsed<JsonObject>,
): Parsed<{ readonly sent: JsonObject; readonly body: Body }> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return query;
  const sent = readBody(request);
  if (sent.kind === 'refused') return sent;
  const body = validateBody(schema, sent.value);
  return body.kind === 'refused' ? body : valid({ sent: sent.value, body: body.value });
}

function readIdempotencyKey(request: GatewayRequest): Parsed<IdempotencyKey> {
  const parsed = parseIdempotencyKey(request.header('idempotency-key'));
  switch (parsed.kind) {
    case 'key':
      return valid(parsed.key);
    case 'missing':
      return refused('missing_idempotency_key', 'Send an Idempotency-Key header: 1 to 128 visible ASCII characters.');
    case 'invalid':
      return refused('invalid_idempotency_key', `The Idempotency-Key is not valid: ${parsed.reason}.`);
  }
}

export function replayed(stored: Answer): Answer {
  return { ...stored, headers: { ...stored.headers, 'idempotency-replayed': 'true' } };
}

export function payloadMismatch(requestId: string): Answer {
  const detail =
    'This Idempotency-Key belongs to a request with a different body, which may have taken effect. Send that body again. A new key starts a new operation.';
  return problemAnswer(problem('idempotency_key_payload_mismatch', detail), requestId);
}

/** Value of `Retry-After` for a request in progress, in seconds. Most requests complete within this time. */
const IN_PROGRESS_RETRY_SECONDS = 1;

export function inProgress(requestId: string): Answer {
  const detail = 'The first request with this Idempotency-Key is still running. Retry, or send Prefer: wait=8.';
  return problemAnswer(problem('idempotency_key_in_progress', detail), requestId, {
    headers: { 'retry-after': String(IN_PROGRESS_RETRY_SECONDS) },
  });
}

export function keyedCounts({ kind }: { readonly kind: string }): readonly RequestCount[] {
  if (kind === 'payload_mismatch') return ['mismatch'];
  return kind === 'first' || kind === 'replay' ? [kind] : [];
}
