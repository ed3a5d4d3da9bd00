import * as z from 'zod';
import type { Handled } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed, type SettingCall } from '../../http/endpoint.ts';
import { keyedCounts } from '../../http/keyed-request.ts';
import { causedByOperator } from '../../http/operator-api.ts';
import { defined } from '../../kernel/defined.ts';
import { storedOperationId } from '../../kernel/ids.ts';
import { paymentPath } from '../../payments/http/payment-answers.ts';
import { payment, refund } from '../../payments/http/payment-objects.ts';
import type { Operator } from '../../tenants/operators.ts';
import { deriveDecisionId } from '../ids.ts';
import { type DecidePayment, type DecisionTools, decidePayment, previewDecision } from '../use/decide-payment.ts';
import { approval, NEEDS_APPROVAL, NOT_AS_SHOWN } from './answer-schemas.ts';
import { previewResponse } from './dry-run.ts';
import { dryRun } from './effect-answers.ts';
import { decisionBody } from './ledger-schemas.ts';
import { operatorAnswer } from './operator-answers.ts';

export const postDecision = keyed({
  path: '/v1/admin/payments/{id}/resolve',
  role: 'operator',
  body: decisionBody,
  notInFingerprint: ['reason'],
  dryRun: preview,
  handle: decide,
  docs: {
    operationId: 'resolvePayment',
    tag: 'Ledger',
    summary: 'Decide a payment that needs review',
    description:
      'Records the outcome that an operator has determined, with the operator’s name. A success posts the requested amount, or `amount`; a ' +
      'failure posts nothing. With `change`, the decision concerns a capture, cancellation or refund whose outcome cannot be determined. ' +
      'A decision is compared with the current books of the payment’s processor, and again when a second person approves it: the charge must belong to this payment ' +
      'and be captured, held or refunded as the decision states. A decision that the payment failed is not compared, because any captured money is refunded to the payer.',
    path: paymentPath,
    key: ['decision', 'nothing is posted twice'],
    requests: {
      failed: {
        summary: 'No charge was found',
        value: { outcome: 'failed', reason: 'Nothing on the bank statement of 3 March' },
      },
      succeeded: {
        summary: 'The charge was found with a different amount',
        value: {
          outcome: 'succeeded',
          charge_id: 'ch_1',
          amount: 999,
          reason: 'Seen on the bank statement of 3 March',
        },
      },
      dry_run: {
        summary: 'Show what a decision would post',
        value: {
          outcome: 'succeeded',
          charge_id: 'ch_1',
          amount: 999,
          reason: 'Seen on the bank statement of 3 March',
          dry_run: true,
        },
      },
    },
    answers: {
      200: {
        description: 'The payment after the decision, the decided refund, or the result of a dry run.',
        schema: z.discriminatedUnion('object', [payment, refund, dryRun]).meta({ id: 'Resolved' }),
      },
      202: { description: NEEDS_APPROVAL, schema: approval },
    },
    problems: ['payment_not_in_review', 'change_not_undecided', ...NOT_AS_SHOWN],
  },
});

type Body = typeof decisionBody;

async function preview(call: SettingCall<DecisionTools, Body, Operator>): Promise<Handled> {
  const { tools, caller, request, id, body } = call;
  const outcome = await previewDecision(tools, { payment: id, ...requestedDecision(body, caller) });
  if (outcome.kind === 'preview') return previewResponse(outcome);
  return { answer: operatorAnswer(outcome, request.requestId), outcome: outcome.kind, counts: [] };
}

async function decide(call: KeyedCall<DecisionTools, Body, Operator>): Promise<Handled> {
  const { tools, caller, request, id, key, fingerprint, body } = call;
  const path = `/v1/admin/payments/${id}/resolve`;
  const operationId = deriveDecisionId(tools.digest, { person: caller.person, method: 'POST', path, key });
  call.logFields.operationId = operationId;
  const cause = causedByOperator(call);
  const asked = { cause, operationId, fingerprint, payment: id, ...requestedDecision(body, caller) };
  const outcome = await decidePayment(tools, asked);
  return { answer: operatorAnswer(outcome, request.requestId), outcome: outcome.kind, counts: keyedCounts(outcome) };
}

function requestedDecision(
  { outcome, change, charge_id: chargeId, amount: takenMinor, override = false, reason }: z.output<Body>,
  by: Operator,
): Pick<DecidePayment, 'asked' | 'reason' | 'by'> {
  const asked = {
    kind: 'decision' as const,
    outcome,
    ...(change === undefined ? {} : { change: storedOperationId(change) }),
    ...defined({ chargeId, takenMinor }),
    ...(override ? { override } : {}),
  };
  return { asked, reason, by };
}
