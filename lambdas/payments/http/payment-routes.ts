import type * as z from 'zod';
import { type Call, causedByRequest, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { readOptionalJsonObject } from '../../http/json-body.ts';
import { readKeyedRequest } from '../../http/keyed-request.ts';
import { preferredWait } from '../../http/prefer-wait.ts';
import { type Parsed, problem, valid } from '../../http/problems.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import { awaitFirst } from '../../once/use/await-first.ts';
import type { RunNotes } from '../../once/use/execute-once.ts';
import type { ChangeCommand } from '../domain/change.ts';
import { type ChangeKind, deriveChangeId, parsePaymentId } from '../ids.ts';
import type { ChangePayment, ChangePaymentTools } from '../use/change-payment.ts';
import type { ReadChargesTools } from '../use/read-charges.ts';
import { getPayment, getTransitions } from './get-payment.ts';
import type { Part } from './payment-parts.ts';
import { cancelBody, captureBody, refundBody } from './payment-schemas.ts';
import { type PaymentsTools, postPayment } from './post-payment.ts';
import { runCounts } from './run-counts.ts';

/** One kind of change: its path under the payment, its body, and the command for the domain. */
interface Kind<Body> {
  readonly kind: ChangeKind;
  readonly step: string;
  readonly body: z.ZodType<Body>;
  readonly command: (body: Body) => ChangeCommand;
}

function route<Body>(kind: Kind<Body>): Route<ChangePaymentTools> {
  return {
    method: 'POST',
    path: `/v1/payments/{id}/${kind.step}`,
    scope: Scopes.paymentsWrite,
    handle: (call) => handle(kind, call),
  };
}

const postCapture = route({
  kind: 'capture',
  step: 'capture',
  body: captureBody,
  command: ({ amount }) => ({ kind: 'capture', ...defined({ amountMinor: amount }) }),
});

const postCancel = route({
  kind: 'cancel',
  step: 'cancel',
  body: cancelBody,
  command: () => ({ kind: 'cancel' }),
});

const postRefund = route({
  kind: 'refund',
  step: 'refunds',
  body: refundBody,
  command: ({ amount, reason }) => ({
    kind: 'refund',
    ...defined({ amountMinor: amount, reason }),
  }),
});

const PARTS: readonly Part[] = ['refund', 'dispute', 'capture', 'cancellation'];

/** Routes to the parts of payments, by payment and by id. Their code is loaded on first use. */
const PART_ROUTES = PARTS.flatMap((noun): Route<ChangePaymentTools>[] => [
  {
    method: 'GET',
    path: `/v1/payments/{id}/${noun}s`,
    scope: Scopes.paymentsRead,
    handle: async (call) => (await import('./payment-parts.ts')).listParts(call, noun),
  },
  {
    method: 'GET',
    path: `/v1/${noun}s/{id}`,
    scope: Scopes.paymentsRead,
    handle: async (call) => (await import('./payment-parts.ts')).showPart(call, noun),
  },
]);

/** Shows the record of a payment request. Its code is loaded on first use. */
const getPaymentRequest: Route<ChangePaymentTools> = {
  method: 'GET',
  path: '/v1/payment_requests/{id}',
  scope: Scopes.paymentsRead,
  handle: async (call) => (await import('./get-payment-request.ts')).showPaymentRequest(call),
};

/** Shows the current state of the processor's books. Its code is loaded on first use. */
const getCharges: Route<ReadChargesTools> = {
  method: 'GET',
  path: '/v1/payments/{id}/charges',
  scope: Scopes.paymentsRead,
  role: 'operator',
  asksProcessor: () => true,
  handle: async (call) => (await import('./list-charges.ts')).listCharges(call),
};

/** The routes of the payments API, for any store and processor. The route that lists payments is in `views/`. */
export const PAYMENT_ROUTES: readonly Route<PaymentsTools & ReadChargesTools>[] = [
  postPayment,
  getPayment,
  getTransitions,
  postCapture,
  postCancel,
  postRefund,
  ...PART_ROUTES,
  getPaymentRequest,
  getCharges,
];

async function handle<Body>(kind: Kind<Body>, call: Call<ChangePaymentTools>): Promise<Handled> {
  const { request } = call;
  const tools = { ...call.tools, alarm: call.logFields.alarm };
  const paymentId = parsePaymentId(call.id);
  if (paymentId === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  const parsed = readRequest(kind, call, paymentId);
  if (parsed.kind === 'refused') return refusal(parsed.problem, request);
  call.logFields.operationId = parsed.value.operationId;
  const notes: RunNotes = { takenOver: false, fenced: false };
  const wait = preferredWait(request.header('prefer'), call.enterWait);
  // Changes are loaded on first use: most processes only create payments.
  const { changePayment } = await import('../use/change-payment.ts');
  const { changeOutcomeAnswer } = await import('./change-outcome-answer.ts');
  const outcome = await awaitFirst(tools, parsed.value.operationId, wait, () =>
    changePayment(tools, parsed.value, notes),
  );
  return {
    answer: wait.applied(changeOutcomeAnswer(kind.kind, outcome, request.requestId)),
    outcome: outcome.kind === 'refused' ? outcome.refusal.kind : outcome.kind,
    counts: runCounts(outcome, notes),
  };
}

function readRequest<Body>(
  { kind, step, body: schema, command }: Kind<Body>,
  { tools: { digest }, ...call }: Call<ChangePaymentTools>,
  paymentId: PaymentId,
): Parsed<ChangePayment> {
  const { caller, request, receivedAtMs } = call;
  const read = readKeyedRequest(digest, request, schema, readOptionalJsonObject);
  if (read.kind === 'refused') return read;
  const { key, fingerprint, body } = read.value;
  // The scope contains the resolved path, so that a caller may use one key for several payments and for several kinds
  // of change.
  const scope = { ...caller, method: 'POST', path: `/v1/payments/${paymentId}/${step}`, key };
  return valid({
    ...caller,
    operationId: deriveChangeId(digest, kind, paymentId, scope),
    paymentId,
    fingerprint,
    requestId: request.requestId,
    cause: causedByRequest(call),
    receivedAtMs,
    command: command(body),
  });
}
