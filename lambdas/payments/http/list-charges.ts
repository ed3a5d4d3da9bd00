import { found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { problem } from '../../http/problems.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { feeObject, type Payment } from '../domain/payment.ts';
import { isOwnCharge, type ProcessorCharge } from '../domain/processor-charge.ts';
import { notCalled } from '../use/pinned-processor.ts';
import { type ReadChargesTools, readCharges } from '../use/read-charges.ts';
import { chargeList, paymentPath } from './payment-answers.ts';

export const getCharges = reading({
  path: '/v1/payments/{id}/charges',
  scope: Scopes.paymentsRead,
  role: 'operator',
  asksProcessor: () => true,
  handle: listCharges,
  docs: {
    operationId: 'listCharges',
    tag: 'Payments',
    summary: 'List the charges of a payment at the processor',
    description:
      'Reads the current books of the payment’s processor, which may be ahead of the Ledger. Changes nothing. ' +
      'This endpoint has a rate limit of its own: a tenth of the limit for other reads.',
    path: paymentPath,
    answers: { 200: { description: 'The charges.', schema: chargeList } },
    problems: ['processor_unavailable'],
  },
});

async function listCharges({ tools, caller, request, id }: ReadingCall<ReadChargesTools>): Promise<Handled> {
  const outcome = await readCharges(tools, caller, id);
  switch (outcome.kind) {
    case 'not_found':
      return refusal(problem('not_found', 'There is no such payment.'), request);
    case 'not_called':
      return refusal(problem('processor_unavailable', notCalled(outcome.books)), request);
    case 'found': {
      const data = outcome.charges.map((charge) => chargeObject(charge, outcome.payment));
      return found({ object: 'list', data, has_more: false });
    }
  }
}

function chargeObject(charge: ProcessorCharge, payment: Payment): Record<string, unknown> {
  const { chargeId, status, amountMinor, capturedMinor, currency, feeMinor, otherFees, failure } = charge;
  return {
    id: chargeId,
    object: 'charge',
    processor: payment.processorName,
    own: isOwnCharge(charge, payment),
    status,
    amount: amountMinor,
    amount_captured: capturedMinor,
    currency,
    fee: feeMinor ?? null,
    ...(otherFees === undefined ? {} : { other_fees: otherFees.map(feeObject) }),
    failure: failure === undefined ? null : { code: failure.code, message: failure.message },
    refunds: charge.refunds.map((each) => ({ id: each.refundId, status: each.status, amount: each.amountMinor })),
    disputes: charge.disputes.map((each) => ({ id: each.disputeId, status: each.status, amount: each.amountMinor })),
    created: charge.createdAtSeconds,
  };
}
