import { JSON_TYPE } from '../../kernel/answer.ts';
import type { OperatorCause } from '../../kernel/cause.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { begunAtMs, changeOf } from '../domain/change.ts';
import { refundObject } from '../domain/change-answer.ts';
import { reasonFields } from '../domain/given-reason.ts';
import {
  type DecisionOutcome,
  type DecisionRequest,
  decideByOperator,
  decideChangeByOperator,
} from '../domain/operator-decision.ts';
import { paymentObject, type Refund } from '../domain/payment.ts';
import type { PaymentState } from '../domain/payment-state.ts';
import { detailsOf, personalFields } from '../domain/transition.ts';
import {
  type KeyedEffectOutcome,
  type KeyedEffectTools,
  type Preview,
  previewEffect,
  takeEffect,
} from './keyed-effect.ts';
import type { PaymentChain } from './payment-chain.ts';
import { lookAtBooks } from './queued-with.ts';

export interface DecidePayment extends Omit<DecisionRequest, 'decisionId'> {
  readonly cause: OperatorCause;
  /** Derived from operator, method, path and idempotency key. It is also the id of the decision. */
  readonly operationId: OperationId;
  /** Of the request without the reason. */
  readonly fingerprint: Fingerprint;
  /** The payment id from the request, not yet parsed. */
  readonly payment: string;
}

type DecisionRefusal = Exclude<DecisionOutcome, { kind: 'append' | 'made_before' }>;

export type DecidePaymentOutcome = KeyedEffectOutcome<DecisionRefusal>;

/**
 * Records an operator's decision about a payment in review, or about a change whose outcome could not be determined.
 * Exactly once in effect.
 *
 * @throws as `takeEffect`
 */
export async function decidePayment(tools: KeyedEffectTools, request: DecidePayment): Promise<DecidePaymentOutcome> {
  const { cause, operationId, fingerprint, payment, reason } = request;
  return takeEffect<DecisionRefusal>(tools, {
    cause,
    action: 'decision.made',
    operationId,
    fingerprint,
    payment,
    reason,
    recordedReason: ({ state }) => state.decisions.get(operationId)?.reason,
    decide: (chain) => decideOn({ ...request, decisionId: operationId }, chain, tools.clock.nowMs()),
    // The decision is the operator's word. The processor's books are compared with it at once: money that the payment must not
    // have is returned, and refunds and disputes that were made meanwhile are recorded.
    inquiry: ({ payment: { id }, occurredAtMs }) => lookAtBooks(id, occurredAtMs),
    answer: (_transition, chain) => ({
      status: 200,
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify(decidedObject(request, chain)),
    }),
    personalFields: ({ state, first }) => {
      const refund = decidedRefund(request, state);
      return refund === undefined ? personalFields(detailsOf(first)) : reasonFields(refund);
    },
  });
}

/** What the decision would append. Nothing is written. @throws as `previewEffect` */
export async function previewDecision(
  tools: Pick<KeyedEffectTools, 'effects' | 'clock'>,
  request: Pick<DecidePayment, 'payment'> & Omit<DecisionRequest, 'decisionId'>,
): Promise<Preview | { readonly kind: 'not_found' } | DecisionRefusal> {
  return previewEffect<DecisionRefusal>(tools, {
    ...request,
    decide: (chain) => decideOn({ ...request, decisionId: '' }, chain, tools.clock.nowMs()),
  });
}

function decideOn(request: DecisionRequest, { state, transitions }: PaymentChain, nowMs: number): DecisionOutcome {
  const { change } = request;
  if (change === undefined) return decideByOperator(request, state);
  return decideChangeByOperator({ ...request, change }, state, {
    begunAtMs: begunAtMs(transitions, change) ?? nowMs,
    nowMs,
  });
}

/** The refund, or the payment, as it is after the decision. */
function decidedObject(request: DecidePayment, { first, state }: PaymentChain): Record<string, unknown> {
  const refund = decidedRefund(request, state);
  return refund === undefined ? paymentObject(state.payment, detailsOf(first)) : refundObject(refund, state.payment);
}

function decidedRefund({ change }: DecidePayment, state: PaymentState): Refund | undefined {
  const decided = change === undefined ? undefined : changeOf(state, change);
  return decided?.kind === 'refund' ? decided : undefined;
}
