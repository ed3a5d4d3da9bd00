import type * as z from 'zod';
import { problemAnswer } from '../../http/http-answer.ts';
import type * as http from '../../http/http-api.ts';
import { keyedCounts, payloadMismatch, readIdempotencyKey, replayed } from '../../http/idempotency-http.ts';
import { type JsonObject, readOptionalJsonObject } from '../../http/json-body.ts';
import { type Parsed, type ProblemCode, problem, valid } from '../../http/problems.ts';
import { validateBody, validateQuery } from '../../http/validate.ts';
import type { Answer } from '../../kernel/answer.ts';
import type { Digest } from '../../kernel/digest.ts';
import { fingerprintOf } from '../../kernel/fingerprint.ts';
import type { KeyScope } from '../../kernel/ids.ts';
import { emptyQuery } from '../../payments/http/payment-schemas.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import { webhookOperation } from '../domain/webhook-endpoint.ts';
import type { AskTools } from '../use/resend-webhook.ts';
import type { EndpointTools, KeyedRequest } from '../use/webhook-endpoints.ts';

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
