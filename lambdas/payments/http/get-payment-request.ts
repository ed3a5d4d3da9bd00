import * as z from 'zod';
import { found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { problem } from '../../http/problems.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { IdempotencyRecord } from '../../once/domain/idempotency.ts';
import { chargeOperation, paymentOfEvent } from '../ids.ts';
import type { PaymentStore } from '../use/payment-store.ts';
import { readPayment } from '../use/read-payment.ts';
import { paymentRequest, type RequestStatus } from './payment-answers.ts';

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

interface PaymentRequestTools {
  readonly store: PaymentStore;
  readonly digest: Digest;
}

export const getPaymentRequest = reading({
  path: '/v1/payment_requests/{id}',
  scope: Scopes.paymentsRead,
  handle: showPaymentRequest,
  docs: {
    operationId: 'getPaymentRequest',
    tag: 'Payments',
    summary: 'Retrieve an event that requested a payment',
    description:
      'The status of a `payment.requested.v1` event of this tenant and mode. Returns 404 while the event has not begun a payment: it has not arrived, waits in a queue, or is parked.',
    path: z.object({
      id: z.uuid().meta({
        description: 'The `event_id` that the sender of the event chose.',
        example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
      }),
    }),
    answers: { 200: { description: 'The request.', schema: paymentRequest } },
  },
});

async function showPaymentRequest(call: ReadingCall<PaymentRequestTools>): Promise<Handled> {
  const { tools, caller, request } = call;
  const eventId = call.id.toLowerCase();
  const paymentId = paymentOfEvent(tools.digest, caller, eventId);
  const [record, paid] = UUID.test(eventId)
    ? await Promise.all([
        tools.store.readRecord(chargeOperation(paymentId)),
        readPayment(tools.store, caller, paymentId),
      ])
    : [];
  if (paid?.kind !== 'found') {
    const detail = 'No event with this id has begun a payment. The event may wait in a queue, or be parked.';
    return refusal(problem('not_found', detail), request);
  }
  const { status, changedMs } = record === undefined ? withoutRecord(paid.payment.status) : stateOf(record);
  return found({
    id: eventId,
    object: 'payment_request',
    livemode: caller.mode === 'live',
    status,
    changed: changedMs === undefined ? null : Math.floor(changedMs / 1000),
    payment: paymentId,
  });
}

interface RequestState {
  readonly status: RequestStatus;
  readonly changedMs?: number;
}

/** A released claim is shown as failed: nothing was sent, and the next delivery may claim the request immediately. */
function stateOf(record: IdempotencyRecord): RequestState {
  const changedMs = record.changedAtMs ?? record.claimedAtMs;
  if (record.status === 'COMPLETED') return { status: 'completed', changedMs };
  return { status: record.released ? 'failed' : 'pending', changedMs };
}

/**
 * If the payment has an outcome, its completed record has expired. Otherwise, its record was lost, and the resolver
 * completes the payment.
 */
function withoutRecord(status: string): RequestState {
  return { status: status === 'processing' ? 'pending' : 'completed' };
}
