import * as z from 'zod';
import { causedByRequest, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed, type ReadingCall, reading, type TenantEndpoint } from '../../http/endpoint.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { inProgress, payloadMismatch, replayed } from '../../http/keyed-request.ts';
import { preferredWait } from '../../http/prefer-wait.ts';
import { type Parsed, problem, valid } from '../../http/problems.ts';
import type { Answer } from '../../kernel/answer.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import { type EmailHashes, hashOfNew } from '../../kernel/email-hashes.ts';
import type { RequestCount } from '../../kernel/platform/telemetry.ts';
import { awaitFirst } from '../../once/use/await-first.ts';
import type { RunNotes } from '../../once/use/execute-once.ts';
import { noProcessorProblem } from '../../payments/http/outcome-answer.ts';
import { NO_PROCESSOR } from '../../payments/http/payment-answers.ts';
import { loopbackProblem } from '../../payments/http/payment-objects.ts';
import { orderObject } from '../domain/order-answer.ts';
import { deriveOrderId, orderOperation } from '../ids.ts';
import { type CreateOrder, type CreateOrderOutcome, createOrder } from '../use/create-order.ts';
import type { OrderTools } from '../use/order-calls.ts';
import { readOrder } from '../use/order-chain.ts';
import { order } from './order-object.ts';
import { createOrderBody } from './order-schemas.ts';

const PATH = '/v1/orders';

export interface OrderRouteTools extends OrderTools {
  readonly emailHashes: EmailHashes;
}

type PostCall = KeyedCall<OrderRouteTools, typeof createOrderBody>;

const postOrder = keyed({
  path: PATH,
  scope: Scopes.paymentsWrite,
  body: createOrderBody,
  handle,
  docs: {
    operationId: 'createOrder',
    tag: 'Orders',
    summary: 'Create an order',
    description:
      'Charges the amount, reserves the items, sends a confirmation and credits the referrer, each once. If the items cannot be reserved, the charge is refunded in full.',
    key: ['order', 'no step happens twice'],
    located: true,
    waits: true,
    requests: {
      whole: {
        summary: 'With a referrer',
        value: {
          amount: 2000,
          currency: 'EUR',
          source: 'tok_ok',
          items: [{ sku: 'sku_tea', quantity: 2 }],
          email: 'ada@example.com',
          referrer: 'ref_friend',
        },
      },
    },
    answers: {
      201: { description: 'Charged and reserved. The confirmation and the credit can follow later.', schema: order },
      202: {
        description:
          'The outcome is not known yet: the charge or the reservation has no result, the payer or an operator must act, or a refund is in progress. ' +
          'GET shows the outcome later.',
        schema: order,
      },
    },
    problems: [
      'payment_failed',
      'order_not_attempted',
      'out_of_stock',
      'order_canceled',
      'testmode_not_available',
      ...NO_PROCESSOR,
    ],
  },
});

async function handle(call: PostCall): Promise<Handled> {
  const { request } = call;
  const parsed = requested(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, request);
  const operationId = orderOperation(parsed.value.orderId);
  call.logFields.operationId = operationId;
  const notes: RunNotes = { takenOver: false, fenced: false };
  const tools = { ...call.tools, alarm: call.logFields.alarm };
  const wait = preferredWait(request.header('prefer'), call.enterWait);
  const hasBegun = async () => (await tools.store.readRecord(operationId)) !== undefined;
  const emailHash = await hashOfNew(tools.emailHashes, call.caller, parsed.value.email, hasBegun);
  const outcome = await awaitFirst(tools, operationId, wait, () =>
    createOrder(tools, { ...parsed.value, ...emailHash }, notes),
  );
  return {
    answer: wait.applied(orderOutcomeAnswer(outcome, request.requestId)),
    outcome: outcome.kind,
    counts: countsOf(outcome, notes),
  };
}

function requested(call: PostCall): Parsed<CreateOrder> {
  const { caller, request, receivedAtMs, tools, key, fingerprint, body } = call;
  const {
    amount,
    currency,
    source,
    items,
    email,
    referrer,
    affiliate,
    shop_order: shopOrder,
    return_url: returnUrl,
  } = body;
  const misplaced = loopbackProblem(caller.mode, returnUrl);
  if (misplaced !== undefined) return misplaced;
  return valid({
    ...caller,
    orderId: deriveOrderId(tools.digest, { ...caller, method: 'POST', path: PATH, key }),
    fingerprint,
    requestId: request.requestId,
    cause: causedByRequest(call),
    receivedAtMs,
    amountMinor: amount,
    currency,
    source,
    items,
    email,
    ...defined({ referrer, affiliate, shopOrder, returnUrl }),
  });
}

function orderOutcomeAnswer(outcome: CreateOrderOutcome, requestId: string): Answer {
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'in_progress':
      return inProgress(requestId);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'no_processor':
      return problemAnswer(noProcessorProblem(outcome.why), requestId);
    case 'order_key_expired': {
      const detail =
        'This Idempotency-Key has created an order, and its response is no longer stored. Retrieve the order.';
      return problemAnswer(problem('idempotency_key_expired', detail), requestId, {
        members: { order_id: outcome.orderId },
      });
    }
  }
}

function countsOf(outcome: CreateOrderOutcome, notes: RunNotes): readonly RequestCount[] {
  const counts: RequestCount[] = [];
  if (outcome.kind === 'payload_mismatch') counts.push('mismatch');
  else if (outcome.kind !== 'order_key_expired' && outcome.kind !== 'no_processor') counts.push(outcome.kind);
  if (outcome.kind === 'first' && outcome.unknown) counts.push('unknown');
  if (notes.takenOver) counts.push('takeover');
  if (notes.fenced) counts.push('fenced');
  return counts;
}

const getOrder = reading({
  path: '/v1/orders/{id}',
  scope: Scopes.paymentsRead,
  handle: async ({ tools, caller, id, request }: ReadingCall<OrderRouteTools>) => {
    const chain = await readOrder(tools.orders, caller, id);
    // The response is the same for a missing order and for an order of another tenant or mode. It does not repeat the
    // id.
    if (chain === undefined) return refusal(problem('not_found', 'There is no such order.'), request);
    return found(orderObject(chain.order, chain.details));
  },
  docs: {
    operationId: 'getOrder',
    tag: 'Orders',
    summary: 'Retrieve an order',
    description: 'Returns the current state, which includes every change that an earlier response reported.',
    path: z.object({ id: order.shape.id.meta({ description: 'The id of the order.' }) }),
    answers: { 200: { description: 'The order.', schema: order } },
  },
});

export const ORDER_ROUTES: readonly TenantEndpoint<OrderRouteTools>[] = [postOrder, getOrder];
