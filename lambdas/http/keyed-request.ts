import type * as z from 'zod';
import type { Digest } from '../kernel/digest.ts';
import { type Fingerprint, fingerprintOf } from '../kernel/fingerprint.ts';
import type { IdempotencyKey } from '../kernel/idempotency-key.ts';
import { emptyQuery } from '../payments/http/payment-schemas.ts';
import type { GatewayRequest } from './gateway-request.ts';
import { readIdempotencyKey } from './idempotency-http.ts';
import { type JsonObject, readJsonObject } from './json-body.ts';
import { type Parsed, valid } from './problems.ts';
import { validateBody, validateQuery } from './validate.ts';

/** A request that takes effect once, as all of them are read. */
export interface KeyedRequest<Body> {
  readonly key: IdempotencyKey;
  readonly body: Body;
  /** Of the body as it was sent, without our defaults: it alone is what the client asked for. */
  readonly fingerprint: Fingerprint;
}

/**
 * Key, query, body: in this order, and nothing of it is stored before all of it is good.
 *
 * @param readBody for a body that may be left out @default it must be there
 */
export function readKeyedRequest<Body>(
  digest: Digest,
  request: GatewayRequest,
  schema: z.ZodType<Body>,
  readBody: (request: GatewayRequest) => Parsed<JsonObject> = readJsonObject,
): Parsed<KeyedRequest<Body>> {
  const key = readIdempotencyKey(request);
  if (key.kind === 'refused') return key;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return query;
  const sent = readBody(request);
  if (sent.kind === 'refused') return sent;
  const body = validateBody(schema, sent.value);
  if (body.kind === 'refused') return body;
  const fingerprint = fingerprintOf(digest, { body: sent.value, query: Object.fromEntries(request.query) });
  return valid({ key: key.value, body: body.value, fingerprint });
}
