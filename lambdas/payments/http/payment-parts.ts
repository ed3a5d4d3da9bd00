import * as z from 'zod';
import { found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { problem } from '../../http/problems.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { storedOperationId } from '../../kernel/ids.ts';
import { begunAtMs } from '../domain/change.ts';
import { holdChangeObject, refundObject } from '../domain/change-answer.ts';
import { disputeObject, type HoldChange } from '../domain/payment.ts';
import { parsePaymentId, paymentOfPart } from '../ids.ts';
import { type PaymentChain, readOwnChain } from '../use/payment-chain.ts';
import type { PaymentStore } from '../use/payment-store.ts';
import {
  cancellationOf,
  cancellationsOfPayment,
  captureOf,
  capturesOfPayment,
  disputesOfPayment,
  paymentPath,
  refundList,
} from './payment-answers.ts';
import { dispute, refund } from './payment-objects.ts';

interface PartTools {
  readonly store: PaymentStore;
}

type Part = 'refund' | 'dispute' | 'capture' | 'cancellation';

/** Each function returns the parts in the order in which they became known. */
const SHOWN: Readonly<Record<Part, (chain: PaymentChain) => readonly Readonly<Record<string, unknown>>[]>> = {
  refund: ({ state }) => [...state.refunds.values()].map((each) => refundObject(each, state.payment)),
  dispute: ({ state }) => [...state.disputes.values()].map((each) => disputeObject(each, state.payment)),
  capture: (chain) => holdChangesOf(chain, 'capture'),
  cancellation: (chain) => holdChangesOf(chain, 'void'),
};

function holdChangesOf({ state, transitions }: PaymentChain, kind: HoldChange['kind']) {
  return [...state.holdChanges.values()]
    .filter((change) => change.kind === kind)
    .map((change) => {
      const begun = begunAtMs(transitions, storedOperationId(change.operationId));
      return holdChangeObject(change, state, begun ?? state.payment.createdAtMs);
    });
}

const scope = Scopes.paymentsRead;

type PartCall = ReadingCall<PartTools>;

export const PART_ROUTES = [
  reading({
    path: '/v1/payments/{id}/refunds',
    scope,
    role: 'operator',
    handle: (call: PartCall) => listParts(call, 'refund'),
    docs: {
      operationId: 'listRefunds',
      tag: 'Refunds',
      summary: 'List the refunds of a payment',
      description:
        'All refunds, in the order in which they were recorded. They include refunds made at the processor, and refunds of ' +
        'unexpected charges.',
      path: paymentPath,
      answers: { 200: { description: 'The refunds.', schema: refundList } },
    },
  }),
  reading({
    path: '/v1/refunds/{id}',
    scope,
    handle: (call: PartCall) => showPart(call, 'refund'),
    docs: {
      operationId: 'getRefund',
      tag: 'Refunds',
      summary: 'Retrieve a refund',
      description: 'Returns the current state. The refund can have been created with this API or at the processor.',
      path: z.object({ id: refund.shape.id.meta({ description: 'The id of the refund.' }) }),
      answers: { 200: { description: 'The refund.', schema: refund } },
    },
  }),
  reading({
    path: '/v1/payments/{id}/disputes',
    scope,
    handle: (call: PartCall) => listParts(call, 'dispute'),
    docs: {
      operationId: 'listDisputesOfPayment',
      tag: 'Disputes',
      summary: 'List the disputes of a payment',
      description: 'All disputes, in the order in which they were recorded.',
      path: paymentPath,
      answers: { 200: { description: 'The disputes.', schema: disputesOfPayment } },
    },
  }),
  reading({
    path: '/v1/disputes/{id}',
    scope,
    handle: (call: PartCall) => showPart(call, 'dispute'),
    docs: {
      operationId: 'getDispute',
      tag: 'Disputes',
      summary: 'Retrieve a dispute',
      description: 'Returns the current state.',
      path: z.object({ id: dispute.shape.id.meta({ description: 'The id of the dispute.' }) }),
      answers: { 200: { description: 'The dispute.', schema: dispute } },
    },
  }),
  reading({
    path: '/v1/payments/{id}/captures',
    scope,
    role: 'operator',
    handle: (call: PartCall) => listParts(call, 'capture'),
    docs: {
      operationId: 'listCaptures',
      tag: 'Payments',
      summary: 'List the captures of a payment',
      description: 'Captures that were requested with this API, in the order in which they were recorded.',
      path: paymentPath,
      answers: { 200: { description: 'The captures.', schema: capturesOfPayment } },
    },
  }),
  reading({
    path: '/v1/captures/{id}',
    scope,
    handle: (call: PartCall) => showPart(call, 'capture'),
    docs: {
      operationId: 'getCapture',
      tag: 'Payments',
      summary: 'Retrieve a capture',
      description: 'Returns the current state.',
      path: z.object({ id: captureOf.shape.id.meta({ description: 'The id of the capture.' }) }),
      answers: { 200: { description: 'The capture.', schema: captureOf } },
    },
  }),
  reading({
    path: '/v1/payments/{id}/cancellations',
    scope,
    role: 'operator',
    handle: (call: PartCall) => listParts(call, 'cancellation'),
    docs: {
      operationId: 'listCancellations',
      tag: 'Payments',
      summary: 'List the cancellations of a payment',
      description:
        'Cancellations that were requested with this API or by Payonce, in the order in which they were recorded.',
      path: paymentPath,
      answers: { 200: { description: 'The cancellations.', schema: cancellationsOfPayment } },
    },
  }),
  reading({
    path: '/v1/cancellations/{id}',
    scope,
    handle: (call: PartCall) => showPart(call, 'cancellation'),
    docs: {
      operationId: 'getCancellation',
      tag: 'Payments',
      summary: 'Retrieve a cancellation',
      description: 'Returns the current state.',
      path: z.object({ id: cancellationOf.shape.id.meta({ description: 'The id of the cancellation.' }) }),
      answers: { 200: { description: 'The cancellation.', schema: cancellationOf } },
    },
  }),
];

/** The part's id contains the payment's id, so no index is needed. */
async function showPart({ tools, caller, request, id }: PartCall, noun: Part): Promise<Handled> {
  const chain = await readOwnChain(tools.store, caller, paymentOfPart(id));
  const part = chain === undefined ? undefined : SHOWN[noun](chain).find((each) => each['id'] === id);
  return part === undefined ? refusal(problem('not_found', `There is no such ${noun}.`), request) : found(part);
}

async function listParts({ tools, caller, request, id }: PartCall, noun: Part): Promise<Handled> {
  const chain = await readOwnChain(tools.store, caller, parsePaymentId(id));
  if (chain === undefined) return refusal(problem('not_found', 'There is no such payment.'), request);
  return found({ object: 'list', data: SHOWN[noun](chain), has_more: false });
}
