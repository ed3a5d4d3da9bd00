import { JSON_TYPE } from '../../kernel/answer.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import { begunAtMs, changeOf } from '../../payments/domain/change.ts';
import { refundObject } from '../../payments/domain/change-answer.ts';
import { reasonFields } from '../../payments/domain/given-reason.ts';
import { paymentObject, type Refund } from '../../payments/domain/payment.ts';
import type { PaymentState } from '../../payments/domain/payment-state.ts';
import { detailsOf, personalFields } from '../../payments/domain/transition.ts';
import type { EffectStore } from '../../payments/use/effect-store.ts';
import type { PaymentChain } from '../../payments/use/payment-chain.ts';
import { booksInquiry } from '../../payments/use/queued-with.ts';
import { queueUntracked } from '../../payments/use/untracked-entries.ts';
import type { Asked } from '../domain/approval.ts';
import {
  type DecisionOutcome,
  type DecisionRequest,
  decideByOperator,
  decideChangeByOperator,
} from '../domain/operator-decision.ts';
import { type ComparingTools, type ComparisonRefusal, compareDecision } from './compare-decision.ts';
import {
  type EffectOfRequest,
  type KeyedEffectOutcome,
  type KeyedEffectTools,
  type OperatorRequest,
  type Preview,
  previewEffect,
  takeEffect,
} from './keyed-effect.ts';

export type AskedDecision = Extract<Asked, { readonly kind: 'decision' }>;

export type DecidePayment = OperatorRequest<AskedDecision>;

export type DecisionRefusal = Exclude<DecisionOutcome, { kind: 'append' | 'made_before' }> | ComparisonRefusal;

export interface DecisionTools extends KeyedEffectTools, ComparingTools {}

export type DecidePaymentOutcome = KeyedEffectOutcome<DecisionRefusal>;

/** @throws as `takeEffect` */
export async function decidePayment(tools: DecisionTools, request: DecidePayment): Promise<DecidePaymentOutcome> {
  return takeEffect<DecisionRefusal>(tools, { ...request, ...decisionEffect(tools, request, request.operationId) });
}

/** @throws as `previewEffect` */
export async function previewDecision(
  tools: ComparingTools & Pick<KeyedEffectTools, 'effects' | 'clock' | 'approvals'>,
  { payment, ...request }: Pick<DecidePayment, 'payment' | 'asked' | 'reason' | 'by'>,
): Promise<Preview | { readonly kind: 'not_found' } | DecisionRefusal> {
  return previewEffect<DecisionRefusal>(tools, {
    payment,
    asked: request.asked,
    decide: decisionEffect(tools, request, '').decide,
  });
}

/** @param decisionId an empty string for a preview */
export function decisionEffect(
  {
    clock,
    ...tools
  }: ComparingTools & { readonly clock: Pick<Clock, 'nowMs'>; readonly effects: Pick<EffectStore, 'queueOrNote'> },
  { asked, reason, by }: Pick<DecidePayment, 'asked' | 'reason' | 'by'>,
  decisionId: OperationId | '',
): EffectOfRequest<DecisionRefusal> {
  const request = { ...asked, decisionId, reason, operator: by.name };
  return {
    action: 'decision.made',
    ...(asked.override === undefined ? {} : { details: { override: 'true' } }),
    recordedReason: ({ state }) => state.decisions.get(decisionId)?.reason,
    decide: async (chain) => {
      const decision = decideOn(request, chain, clock.nowMs());
      if (decision.kind !== 'append') return decision;
      const { refusal, charge } = await compareDecision(tools, asked, chain);
      // The books may show an open charge or hold that no callback has reported. Queue it even if the decision is
      // refused.
      if (charge !== undefined && decisionId !== '')
        await queueUntracked(tools.effects, { charge, state: chain.state }, clock.nowMs());
      return refusal ?? decision;
    },
    // Queue an inquiry about all charges of the payment, so that money captured by mistake is refunded, and later
    // refunds and disputes are recorded.
    inquiry: ({ payment: { id }, occurredAtMs }) => booksInquiry(id, occurredAtMs),
    answer: (_transition, chain) => ({
      status: 200,
      headers: { 'content-type': JSON_TYPE },
      body: JSON.stringify(decidedObject(asked, chain)),
    }),
    personalFields: ({ state, first }) => {
      const refund = decidedRefund(asked, state);
      return refund === undefined ? personalFields(detailsOf(first)) : reasonFields(refund);
    },
  };
}

function decideOn(request: DecisionRequest, { state, transitions }: PaymentChain, nowMs: number): DecisionOutcome {
  const { change } = request;
  if (change === undefined) return decideByOperator(request, state);
  return decideChangeByOperator({ ...request, change }, state, {
    begunAtMs: begunAtMs(transitions, change) ?? nowMs,
    nowMs,
  });
}

function decidedObject(asked: AskedDecision, { first, state }: PaymentChain): Record<string, unknown> {
  const refund = decidedRefund(asked, state);
  return refund === undefined ? paymentObject(state.payment, detailsOf(first)) : refundObject(refund, state.payment);
}

function decidedRefund({ change }: AskedDecision, state: PaymentState): Refund | undefined {
  const decided = change === undefined ? undefined : changeOf(state, change);
  return decided?.kind === 'refund' ? decided : undefined;
}
