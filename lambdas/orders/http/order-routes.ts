import { type Call, causedByRequest, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { inProgress, payloadMismatch, readKeyedRequest, replayed } from '../../http/keyed-request.ts';
import { preferredWait } from '../../http/prefer-wait.ts';
import { type Parsed, problem, valid } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import type { Answer } from '../../kernel/answer.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import { type EmailHashes, hashOfNew } from '../../kernel/email-hashes.ts';
import type { RequestCount } from '../../kernel/platform/telemetry.ts';
import { awaitFirst } from '../../once/use/await-first.ts';
import type { RunNotes } from '../../once/use/execute-once.ts';
import { noProcessor } from '../../payments/http/outcome-answer.ts';
import { loopbackProblem } from '../../payments/http/payment-objects.ts';
import { orderObject } from '../domain/order-answer.ts';
import { deriveOrderId, orderOperation } from '../ids.ts';
import { type CreateOrder, type CreateOrderOutcome, createOrder } from '../use/create-order.ts';
import type { OrderTools } from '../use/order-calls.ts';
import { readOrder } from '../use/order-chain.ts';
import { createOrderBody } from './order-schemas.ts';

const PATH = '/v1/orders';

export interface OrderRouteTools extends OrderTools {
  readonly emailHashes: EmailHashes;
}

const postOrder: Route<OrderRouteTools> = { method: 'POST', path: PATH, scope: Scopes.paymentsWrite, handle };

async function handle(call: Call<OrderRouteTools>): Promise<Handled> {
  const { request } = call;
  const parsed = readRequest(call);
  if (parsed.kind === 'refused') return refusal(parsed.problem, request);
  const operationId = orderOperation(parsed.value.orderId);
  call.logFields.operationId = operationId;
  const notes: RunNotes = { takenOver: false, fenced: false };
  const tools = { ...call.tools, alarm: call.logFields.alarm };
  const wait = preferredWait(request.header('prefer'), call.enterWait);
  const hasBegun = async () => (await tools.store.readRecord(operationId)) !== undefined;
  const keyed = await hashOfNew(tools.emailHashes, call.caller, parsed.value.email, hasBegun);
  const outcome = await awaitFirst(tools, operationId, wait, () =>
    createOrder(tools, { ...parsed.value, ...keyed }, notes),
  );
  return {
    answer: wait.applied(orderOutcomeAnswer(outcome, request.requestId)),
    outcome: outcome.kind,
    counts: countsOf(outcome, notes),
  };
}

function readRequest({ tools: { digest }, ...call }: Call<OrderTools>): Parsed<CreateOrder> {
  const { caller, request, receivedAtMs } = call;
  const read = readKeyedRequest(digest, request, createOrderBody);
  if (read.kind === 'refused') return read;
  const { key, fingerprint, body } = read.value;
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
    orderId: deriveOrderId(digest, { ...caller, method: 'POST', path: PATH, key }),
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

/** Renders the answer to a request for an order. A first execution and a replay return the stored answer unchanged. */
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
      return problemAnswer(noProcessor(outcome.why), requestId);
    case 'order_key_expired': {
      const detail = 'This Idempotency-Key has created an order, and its answer is no longer stored. Read that order.';
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

const getOrder: Route<OrderRouteTools> = {
  method: 'GET',
  path: '/v1/orders/{id}',
  scope: Scopes.paymentsRead,
  handle: show,
};

/** The routes of the orders API, for any store, processor and parties. */
export const ORDER_ROUTES = [postOrder, getOrder];

async function show({ tools, caller, id, request }: Call<OrderTools>): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const chain = await readOrder(tools.orders, caller, id);
  // A missing order and an order of another tenant or mode get the same answer, which does not contain the id.
  if (chain === undefined) return refusal(problem('not_found', 'There is no such order.'), request);
  return found(orderObject(chain.order, chain.details));
}
