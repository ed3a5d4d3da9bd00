import type * as z from 'zod';
import { createOrder } from '../app/create-order.ts';
import type { CreateOrder, CreateOrderOutcome } from '../app/create-order-types.ts';
import type { RunNotes } from '../app/create-payment-types.ts';
import { Scopes } from '../contract/api.ts';
import { fingerprintOf } from '../core/fingerprint.ts';
import type { IdempotencyKey } from '../core/idempotency-key.ts';
import { deriveOrderId, orderOperation } from '../core/ids.ts';
import { type Handled, refusal } from '../runtime/http-api.ts';
import { readIdempotencyKey } from '../runtime/idempotency-http.ts';
import { type JsonObject, readJsonObject } from '../runtime/json-body.ts';
import { createOrderBody } from '../runtime/order-schemas.ts';
import { emptyQuery } from '../runtime/payment-schemas.ts';
import { type Parsed, valid } from '../runtime/problems.ts';
import type { RequestCount } from '../runtime/telemetry.ts';
import { validateBody, validateQuery } from '../runtime/validate.ts';
import { orderOutcomeAnswer } from './order-outcome-answer.ts';
import type { Call, Route } from './route.ts';

const PATH = '/v1/orders';

export const postOrder: Route = { method: 'POST', path: PATH, scope: Scopes.paymentsWrite, handle };

async function handle(call: Call): Promise<Handled> {
  const parsed = readRequest(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, call.request);
  const { tools, request } = call;
  call.seen.operationId = orderOperation(parsed.value.orderId);
  const notes: RunNotes = { takenOver: false, fenced: false };
  const outcome = await createOrder(tools, parsed.value, notes);
  return {
    answer: orderOutcomeAnswer(outcome, request.requestId),
    outcome: outcome.kind,
    counts: countsOf(outcome, notes),
  };
}

/** Key, query, body: in this order, and nothing of it is stored before all of it is good. */
function readRequest(call: Call): Parsed<CreateOrder> {
  const { request } = call;
  const key = readIdempotencyKey(request);
  if (key.kind === 'refused') return key;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return query;
  const sent = readJsonObject(request);
  if (sent.kind === 'refused') return sent;
  const body = validateBody(createOrderBody, sent.value);
  if (body.kind === 'refused') return body;
  return valid(orderOf(call, key.value, sent.value, body.value));
}

/** @param sent the body as it was sent: it alone is what the client asked for */
function orderOf(
  { tools: { digest }, caller, request, receivedAtMs }: Call,
  key: IdempotencyKey,
  sent: JsonObject,
  { amount, currency, source, items, email, referrer }: z.infer<typeof createOrderBody>,
): CreateOrder {
  return {
    ...caller,
    orderId: deriveOrderId(digest, { ...caller, method: 'POST', path: PATH, key }),
    fingerprint: fingerprintOf(digest, { body: sent, query: Object.fromEntries(request.query) }),
    requestId: request.requestId,
    receivedAtMs,
    amountMinor: amount,
    currency,
    source,
    items,
    email,
    ...(referrer === undefined ? {} : { referrer }),
  };
}

function countsOf(outcome: CreateOrderOutcome, notes: RunNotes): readonly RequestCount[] {
  const counts: RequestCount[] = [];
  if (outcome.kind === 'payload_mismatch') counts.push('mismatch');
  else if (outcome.kind !== 'order_key_expired') counts.push(outcome.kind);
  if (outcome.kind === 'first' && outcome.unknown) counts.push('unknown');
  if (notes.takenOver) counts.push('takeover');
  if (notes.fenced) counts.push('fenced');
  return counts;
}
