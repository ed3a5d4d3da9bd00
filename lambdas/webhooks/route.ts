import type * as z from 'zod';
import type { Caller } from '../app/authenticate.ts';
import type { AskTools } from '../app/resend-webhook.ts';
import type { EndpointTools, KeyedRequest } from '../app/webhook-endpoints.ts';
import type { Answer } from '../core/answer.ts';
import type { Digest } from '../core/digest.ts';
import { fingerprintOf } from '../core/fingerprint.ts';
import type { KeyScope } from '../core/ids.ts';
import { webhookOperation } from '../core/webhook-endpoint.ts';
import { problemAnswer } from '../runtime/http-answer.ts';
import type * as http from '../runtime/http-api.ts';
import { keyedCounts, payloadMismatch, readIdempotencyKey, replayed } from '../runtime/idempotency-http.ts';
import { type JsonObject, readOptionalJsonObject } from '../runtime/json-body.ts';
import { emptyQuery } from '../runtime/payment-schemas.ts';
import { type Parsed, type ProblemCode, problem, valid } from '../runtime/problems.ts';
import { validateBody, validateQuery } from '../runtime/validate.ts';

export interface WebhookApiTools extends EndpointTools, AskTools {
  readonly digest: Digest;
}

export type Call = http.Call<WebhookApiTools, Caller>;
export type Route = http.Route<WebhookApiTools, Caller>;

export interface Keyed<Body> {
  readonly request: KeyedRequest;
  readonly scope: KeyScope;
  readonly body: Body;
}

/** Key, query, body: in this order, and nothing of it is stored before all of it is good. A body may be left out where all of it may be. */
export function readKeyed<Body>(call: Call, method: 'POST' | 'DELETE', schema: z.ZodType<Body>): Parsed<Keyed<Body>> {
  const { request, caller, tools } = call;
  const key = readIdempotencyKey(request);
  if (key.kind === 'refused') return key;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return query;
  const sent: Parsed<JsonObject> = readOptionalJsonObject(request);
  if (sent.kind === 'refused') return sent;
  const body = validateBody(schema, sent.value);
  if (body.kind === 'refused') return body;
  const { tenantId, mode } = caller;
  const scope: KeyScope = { tenantId, mode, method, path: `/${request.path.join('/')}`, key: key.value };
  const operationId = webhookOperation(tools.digest, scope);
  call.seen.operationId = operationId;
  const fingerprint = fingerprintOf(tools.digest, { body: sent.value, query: Object.fromEntries(request.query) });
  return valid({ request: { caller, operationId, fingerprint }, scope, body: body.value });
}

type Outcome =
  | { readonly kind: 'first' | 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' | 'not_found' | 'endpoint_disabled' }
  | { readonly kind: 'url_refused'; readonly reason: string }
  | { readonly kind: 'limit_reached'; readonly limit: number };

/** The one place where outcomes become answers. */
export function handled({ request: { requestId } }: Call, outcome: Outcome): http.Handled {
  return { answer: answerOf(outcome, requestId), outcome: outcome.kind, counts: keyedCounts(outcome) };
}

function answerOf(outcome: Outcome, requestId: string): Answer {
  const refuse = (code: ProblemCode, detail: string, param?: string): Answer =>
    problemAnswer(problem(code, detail, param), requestId);
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'not_found':
      return refuse('not_found', 'There is no such webhook endpoint or delivery.');
    case 'endpoint_disabled':
      return refuse('webhook_endpoint_disabled', 'This webhook endpoint is disabled: nothing is sent to it.');
    case 'url_refused':
      return refuse('url_not_allowed', `url ${outcome.reason}.`, 'url');
    case 'limit_reached':
      return refuse(
        'webhook_endpoint_limit',
        `There are ${outcome.limit} webhook endpoints already, the most there may be.`,
      );
  }
}
