import type * as z from 'zod';
import { awaitFirst } from '../app/await-first.ts';
import { createPayment } from '../app/create-payment.ts';
import type { CreatePayment, CreatePaymentOutcome, RunNotes } from '../app/create-payment-types.ts';
import { Scopes } from '../contract/api.ts';
import { fingerprintOf } from '../core/fingerprint.ts';
import type { IdempotencyKey } from '../core/idempotency-key.ts';
import { chargeOperation, derivePaymentId } from '../core/ids.ts';
import { type Handled, refusal } from '../runtime/http-api.ts';
import { readIdempotencyKey } from '../runtime/idempotency-http.ts';
import { type JsonObject, readJsonObject } from '../runtime/json-body.ts';
import { createPaymentBody, emptyQuery } from '../runtime/payment-schemas.ts';
import { preferenceApplied, preferredWaitSeconds } from '../runtime/prefer-wait.ts';
import { type Parsed, valid } from '../runtime/problems.ts';
import type { RequestCount } from '../runtime/telemetry.ts';
import { validateBody, validateQuery } from '../runtime/validate.ts';
import { outcomeAnswer } from './outcome-answer.ts';
import type { Call, Route } from './route.ts';

const PATH = '/v1/payments';

export const postPayment: Route = { method: 'POST', path: PATH, scope: Scopes.paymentsWrite, handle };

async function handle(call: Call): Promise<Handled> {
  const parsed = readRequest(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, call.request);
  const { tools, request } = call;
  call.seen.operationId = chargeOperation(parsed.value.paymentId);
  const wait = preferredWaitSeconds(request.header('prefer'));
  const notes: RunNotes = { takenOver: false, fenced: false };
  const processor = tools.choose?.(parsed.value) ?? tools.processor;
  const outcome = await awaitFirst(tools, call.seen.operationId, (wait ?? 0) * 1000, () =>
    createPayment({ ...tools, processor }, parsed.value, notes),
  );
  return {
    answer: preferenceApplied(outcomeAnswer(outcome, request.requestId), wait),
    outcome: outcome.kind,
    counts: countsOf(outcome, notes),
  };
}

/** Key, query, body: in this order, and nothing of it is stored before all of it is good. */
function readRequest(call: Call): Parsed<CreatePayment> {
  const { request } = call;
  const key = readIdempotencyKey(request);
  if (key.kind === 'refused') return key;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return query;
  const sent = readJsonObject(request);
  if (sent.kind === 'refused') return sent;
  const body = validateBody(createPaymentBody, sent.value);
  if (body.kind === 'refused') return body;
  return valid(paymentOf(call, key.value, sent.value, body.value));
}

/** @param sent the body as it was sent, without our defaults: it alone is what the client asked for */
function paymentOf(
  { tools: { digest }, caller, request, receivedAtMs }: Call,
  key: IdempotencyKey,
  sent: JsonObject,
  { amount, currency, source, capture, reference, description, metadata }: z.infer<typeof createPaymentBody>,
): CreatePayment {
  return {
    ...caller,
    paymentId: derivePaymentId(digest, { ...caller, method: 'POST', path: PATH, key }),
    fingerprint: fingerprintOf(digest, { body: sent, query: Object.fromEntries(request.query) }),
    requestId: request.requestId,
    receivedAtMs,
    amountMinor: amount,
    currency,
    source,
    capture: capture ?? 'automatic',
    ...(reference === undefined ? {} : { reference }),
    ...(description === undefined ? {} : { description }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

function countsOf(outcome: CreatePaymentOutcome, notes: RunNotes): readonly RequestCount[] {
  const counts: RequestCount[] = [];
  if (outcome.kind === 'payload_mismatch') counts.push('mismatch');
  else if (outcome.kind === 'first' || outcome.kind === 'replay' || outcome.kind === 'in_progress') {
    counts.push(outcome.kind);
  }
  if (outcome.kind === 'first' && outcome.unknown) counts.push('unknown');
  if (notes.takenOver) counts.push('takeover');
  if (notes.fenced) counts.push('fenced');
  return counts;
}
