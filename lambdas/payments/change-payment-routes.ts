import type * as z from 'zod';
import { awaitFirst } from '../app/await-first.ts';
import { changePayment } from '../app/change-payment.ts';
import type { ChangePayment, ChangePaymentOutcome } from '../app/change-payment-types.ts';
import type { RunNotes } from '../app/create-payment-types.ts';
import { Scopes } from '../contract/api.ts';
import type { ChangeCommand } from '../core/change.ts';
import { fingerprintOf } from '../core/fingerprint.ts';
import type { IdempotencyKey } from '../core/idempotency-key.ts';
import { type ChangeKind, deriveChangeId, type PaymentId, parsePaymentId } from '../core/ids.ts';
import { type Handled, refusal } from '../runtime/http-api.ts';
import { readIdempotencyKey } from '../runtime/idempotency-http.ts';
import { type JsonObject, readOptionalJsonObject } from '../runtime/json-body.ts';
import { cancelBody, captureBody, emptyQuery, refundBody } from '../runtime/payment-schemas.ts';
import { preferenceApplied, preferredWaitSeconds } from '../runtime/prefer-wait.ts';
import { type Parsed, problem, valid } from '../runtime/problems.ts';
import type { RequestCount } from '../runtime/telemetry.ts';
import { validateBody, validateQuery } from '../runtime/validate.ts';
import { changeOutcomeAnswer } from './change-outcome-answer.ts';
import type { Call, Route } from './route.ts';

/** One kind of change: its path under the payment, its body, and the command that it makes. */
interface Kind<Body> {
  readonly kind: ChangeKind;
  readonly step: string;
  readonly body: z.ZodType<Body>;
  readonly command: (body: Body) => ChangeCommand;
}

function route<Body>(kind: Kind<Body>): Route {
  return {
    method: 'POST',
    path: `/v1/payments/{id}/${kind.step}`,
    scope: Scopes.paymentsWrite,
    handle: (call) => handle(kind, call),
  };
}

export const postCapture = route({
  kind: 'capture',
  step: 'capture',
  body: captureBody,
  command: ({ amount }) => ({ kind: 'capture', ...(amount === undefined ? {} : { amountMinor: amount }) }),
});

export const postCancel = route({
  kind: 'cancel',
  step: 'cancel',
  body: cancelBody,
  command: () => ({ kind: 'cancel' }),
});

export const postRefund = route({
  kind: 'refund',
  step: 'refunds',
  body: refundBody,
  command: ({ amount, reason }) => ({
    kind: 'refund',
    ...(amount === undefined ? {} : { amountMinor: amount }),
    ...(reason === undefined ? {} : { reason }),
  }),
});

async function handle<Body>(kind: Kind<Body>, call: Call): Promise<Handled> {
  const { request, tools } = call;
  const paymentId = parsePaymentId(call.id);
  if (paymentId === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  const parsed = readRequest(kind, call, paymentId);
  if (parsed.kind === 'refused') return refusal(parsed.problem, request);
  call.seen.operationId = parsed.value.operationId;
  const notes: RunNotes = { takenOver: false, fenced: false };
  const wait = preferredWaitSeconds(request.header('prefer'));
  const outcome = await awaitFirst(tools, parsed.value.operationId, (wait ?? 0) * 1000, () =>
    changePayment(tools, parsed.value, notes),
  );
  return {
    answer: preferenceApplied(changeOutcomeAnswer(kind.kind, outcome, request.requestId), wait),
    outcome: outcome.kind === 'refused' ? outcome.refusal.kind : outcome.kind,
    counts: countsOf(outcome, notes),
  };
}

/** Key, query, body: in this order, and nothing of it is stored before all of it is good. */
function readRequest<Body>(kind: Kind<Body>, call: Call, paymentId: PaymentId): Parsed<ChangePayment> {
  const { request } = call;
  const key = readIdempotencyKey(request);
  if (key.kind === 'refused') return key;
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return query;
  const sent = readOptionalJsonObject(request);
  if (sent.kind === 'refused') return sent;
  const body = validateBody(kind.body, sent.value);
  if (body.kind === 'refused') return body;
  return valid(
    changeOf(kind, call, { paymentId, key: key.value, sent: sent.value, command: kind.command(body.value) }),
  );
}

interface ReadChange {
  readonly paymentId: PaymentId;
  readonly key: IdempotencyKey;
  /** The body as it was sent: it alone is what the client asked for. */
  readonly sent: JsonObject;
  readonly command: ChangeCommand;
}

function changeOf(
  { kind, step }: Pick<Kind<never>, 'kind' | 'step'>,
  { tools: { digest }, caller, request, receivedAtMs }: Call,
  { paymentId, key, sent, command }: ReadChange,
): ChangePayment {
  // The resolved path, so that one key may be used for each payment, and for each kind of change of it.
  const scope = { ...caller, method: 'POST', path: `/v1/payments/${paymentId}/${step}`, key };
  return {
    ...caller,
    operationId: deriveChangeId(digest, kind, paymentId, scope),
    paymentId,
    fingerprint: fingerprintOf(digest, { body: sent, query: Object.fromEntries(request.query) }),
    requestId: request.requestId,
    receivedAtMs,
    command,
  };
}

function countsOf(outcome: ChangePaymentOutcome, notes: RunNotes): readonly RequestCount[] {
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
