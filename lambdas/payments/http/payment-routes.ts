import type * as z from 'zod';
import { causedByRequest, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed, type TenantEndpoint } from '../../http/endpoint.ts';
import { preferredWait } from '../../http/prefer-wait.ts';
import { problem } from '../../http/problems.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { awaitFirst } from '../../once/use/await-first.ts';
import type { RunNotes } from '../../once/use/execute-once.ts';
import type { ChangeCommand } from '../domain/change.ts';
import { type ChangeKind, deriveChangeId, parsePaymentId } from '../ids.ts';
import { type ChangePayment, type ChangePaymentTools, changePayment } from '../use/change-payment.ts';
import { CHANGE_PROBLEMS, changeOutcomeAnswer } from './change-outcome-answer.ts';
import { paymentPath } from './payment-answers.ts';
import { payment, refund } from './payment-objects.ts';
import { PAYMENT_POSTS } from './payment-paths.ts';
import { cancelBody, captureBody, refundBody } from './payment-schemas.ts';
import { type PaymentsTools, postPayment } from './post-payment.ts';
import { runCounts } from './run-counts.ts';

type ChangeCall = KeyedCall<ChangePaymentTools, z.ZodType>;

const CHANGE = { scope: Scopes.paymentsWrite, optionalBody: true } as const;
const KEY_SCOPE = ' The same key can be used for other payments, and for other kinds of change of this payment.';
const UNKNOWN = 'The outcome is not known yet, because the processor did not answer in time. GET returns it later.';

const postCapture = keyed({
  ...CHANGE,
  path: PAYMENT_POSTS.capture.path,
  body: captureBody,
  handle: (call: KeyedCall<ChangePaymentTools, typeof captureBody>) =>
    change('capture', call, { kind: 'capture', ...defined({ amountMinor: call.body.amount }) }),
  docs: {
    operationId: 'capturePayment',
    tag: 'Payments',
    summary: 'Capture an authorized payment',
    description:
      'Captures the authorized amount or a part of it, once. The rest is released. Possible while the status is `requires_capture`.',
    path: paymentPath,
    key: ['capture', 'no amount is captured twice', KEY_SCOPE],
    located: true,
    waits: true,
    requests: {
      whole: { summary: 'The whole amount', value: {} },
      part: { summary: 'A part; the rest is released', value: { amount: 300 } },
    },
    answers: {
      200: { description: 'The amount was captured.', schema: payment },
      202: { description: UNKNOWN, schema: payment },
    },
    problems: CHANGE_PROBLEMS.capture,
  },
});

const postCancel = keyed({
  ...CHANGE,
  path: PAYMENT_POSTS.cancel.path,
  body: cancelBody,
  handle: (call: KeyedCall<ChangePaymentTools, typeof cancelBody>) => change('cancel', call, { kind: 'cancel' }),
  docs: {
    operationId: 'cancelPayment',
    tag: 'Payments',
    summary: 'Cancel a payment',
    description:
      'Releases the authorization of a payment that requires capture, or ends a payment that waits for its payer. Afterwards its reference can be used again.',
    path: paymentPath,
    key: ['cancellation', 'the payment is canceled once', KEY_SCOPE],
    located: true,
    waits: true,
    requests: { all: { summary: 'The body has no fields', value: {} } },
    answers: {
      200: { description: 'The payment was canceled.', schema: payment },
      202: { description: UNKNOWN, schema: payment },
    },
    problems: CHANGE_PROBLEMS.cancel,
  },
});

const postRefund = keyed({
  ...CHANGE,
  path: PAYMENT_POSTS.refund.path,
  body: refundBody,
  handle: (call: KeyedCall<ChangePaymentTools, typeof refundBody>) => {
    const { amount, reason } = call.body;
    return change('refund', call, { kind: 'refund', ...defined({ amountMinor: amount, reason }) });
  },
  docs: {
    operationId: 'createRefund',
    tag: 'Refunds',
    summary: 'Refund a payment',
    description:
      'Refunds the remaining amount or a part of it. A payment can have several refunds. Together they never exceed the captured ' +
      'amount: pending refunds and disputed amounts count as refunded.',
    path: paymentPath,
    key: ['refund', 'no amount is refunded twice', KEY_SCOPE],
    located: true,
    waits: true,
    requests: {
      part: { summary: 'A part, with a reason', value: { amount: 300, reason: 'Returned' } },
      rest: { summary: 'All that is left', value: {} },
    },
    answers: {
      201: { description: 'The amount was refunded.', schema: refund },
      202: {
        description:
          'The refund is pending: the processor did not answer in time, or decides later. GET shows the outcome later.',
        schema: refund,
      },
    },
    problems: CHANGE_PROBLEMS.refund,
  },
});

export const PAYMENT_POST_ROUTES: readonly TenantEndpoint<PaymentsTools>[] = [
  postPayment,
  postCapture,
  postCancel,
  postRefund,
];

async function change(kind: ChangeKind, call: ChangeCall, command: ChangeCommand): Promise<Handled> {
  const { request } = call;
  const tools = { ...call.tools, alarm: call.logFields.alarm };
  const paymentId = parsePaymentId(call.id);
  if (paymentId === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  const asked = requestedChange(kind, call, paymentId, command);
  call.logFields.operationId = asked.operationId;
  const notes: RunNotes = { takenOver: false, fenced: false };
  const wait = preferredWait(request.header('prefer'), call.enterWait);
  const outcome = await awaitFirst(tools, asked.operationId, wait, () => changePayment(tools, asked, notes));
  invariant(outcome.kind !== 'not_admitted', 'a tenant’s request was not admitted');
  return {
    answer: wait.applied(changeOutcomeAnswer(kind, outcome, request.requestId)),
    outcome: outcome.kind === 'refused' ? outcome.refusal.kind : outcome.kind,
    counts: runCounts(outcome, notes),
  };
}

function requestedChange(
  kind: ChangeKind,
  call: ChangeCall,
  paymentId: PaymentId,
  command: ChangeCommand,
): ChangePayment {
  const { caller, request, receivedAtMs, tools, key, fingerprint } = call;
  // The scope contains the resolved path, so that a caller may use one key for several payments and for several kinds
  // of change.
  const { method, path } = PAYMENT_POSTS[kind];
  const scope = { ...caller, method, path: path.replace('{id}', paymentId), key };
  return {
    ...caller,
    operationId: deriveChangeId(tools.digest, kind, paymentId, scope),
    paymentId,
    fingerprint,
    requestId: request.requestId,
    cause: causedByRequest(call),
    receivedAtMs,
    command,
  };
}
