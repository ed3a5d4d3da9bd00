import { JSON_TYPE, paymentObject } from '../core/answer.ts';
import type { Fingerprint } from '../core/fingerprint.ts';
import type { OperationId } from '../core/ids.ts';
import { type DecisionOutcome, type DecisionRequest, decideByOperator } from '../core/operator-decision.ts';
import { detailsOf } from '../core/transition.ts';
import type { Caller } from './authenticate.ts';
import { type KeyedEffectOutcome, type KeyedEffectTools, takeEffect } from './keyed-effect.ts';

export interface DecidePayment extends Omit<DecisionRequest, 'decisionId'> {
  readonly caller: Caller;
  /** Derived from tenant, mode, method, path and idempotency key; names the decision as well. */
  readonly operationId: OperationId;
  readonly fingerprint: Fingerprint;
  /** As the client gave it. */
  readonly payment: string;
}

type DecisionRefusal = Exclude<DecisionOutcome, { kind: 'append' | 'made_before' }>;

export type DecidePaymentOutcome = KeyedEffectOutcome<DecisionRefusal>;

/** Records what an operator decided about a payment that waits for a person, once in effect. @throws as `takeEffect` */
export async function decidePayment(tools: KeyedEffectTools, request: DecidePayment): Promise<DecidePaymentOutcome> {
  const { caller, operationId, fingerprint, payment } = request;
  return takeEffect<DecisionRefusal>(tools, {
    caller,
    operationId,
    fingerprint,
    payment,
    decide: ({ state }) => decideByOperator({ ...request, decisionId: operationId }, state),
    answer: (transition, { first }) => ({
      status: 200,
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify(paymentObject(transition.payment, detailsOf(first))),
    }),
  });
}
