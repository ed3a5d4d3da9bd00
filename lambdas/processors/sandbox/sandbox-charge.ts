import * as z from 'zod';
import { defined } from '../../kernel/defined.ts';
import { type Fees, sumFees } from '../../payments/domain/fees.ts';
import { namedPayment, type ProcessorCharge, refundName } from '../../payments/domain/processor-charge.ts';
import { sanitizedFailure } from '../answers.ts';
import type { Charge, ChargeList, Dispute, Refund } from './sandbox-api.ts';

/**
 * Schema of an id that the processor assigns. Length and characters are limited, because the id becomes part of keys
 * and rows.
 */
const processorId = z.string().regex(/^[\x21-\x7e]{1,255}$/);
/** Limits the row size; also, longer URLs do not work in all browsers. */
const MAX_URL_LENGTH = 2_048;

export const refundAnswer = z.object({
  id: processorId,
  object: z.literal('refund'),
  charge: z.string(),
  amount: z.int().min(1),
  status: z.enum(['pending', 'succeeded', 'failed']),
  metadata: z.record(z.string(), z.string()),
}) satisfies z.ZodType<Refund>;

const disputeAnswer = z.object({
  id: processorId,
  object: z.literal('dispute'),
  charge: z.string(),
  amount: z.int().min(1),
  status: z.enum(['open', 'won', 'lost']),
  fee: z.int().optional(),
}) satisfies z.ZodType<Dispute>;

/** Unknown fields are ignored: the processor may add fields at any time. */
export const chargeAnswer = z.object({
  id: processorId,
  object: z.literal('charge'),
  amount: z.int(),
  amount_captured: z.int(),
  amount_refunded: z.int(),
  currency: z.string(),
  capture: z.enum(['automatic', 'manual']),
  status: z.enum(['pending', 'requires_action', 'authorized', 'succeeded', 'declined', 'voided']),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
  fee: z.int().min(0).nullable(),
  fee_currency: z.string().optional(),
  action_url: z
    .url({ protocol: /^https?$/ })
    .max(MAX_URL_LENGTH)
    .nullable(),
  void_reason: z.enum(['requested', 'expired', 'abandoned']).nullable(),
  refunds: z.array(refundAnswer),
  disputes: z.array(disputeAnswer),
  metadata: z.record(z.string(), z.string()),
  livemode: z.boolean(),
  created: z.int(),
}) satisfies z.ZodType<Charge>;

export const listAnswer = z.lazy(
  () =>
    z.object({
      data: z.array(chargeAnswer),
      next: z.string().nullable(),
    }) satisfies z.ZodType<ChargeList>,
);

/**
 * Schema of the fields that the list itself needs from each charge; `chargeAnswer` parses all other fields. Therefore,
 * one unreadable charge does not hide the other charges of its page.
 */
const listedCharge = z.lazy(() =>
  z.looseObject({
    id: processorId,
    object: z.literal('charge'),
    created: z.int(),
    metadata: z.record(z.string(), z.unknown()).catch({}),
  }),
);
export const chargePage = z.lazy(() => z.object({ data: z.array(listedCharge), next: z.string().nullable() }));

export function processorCharge(charge: Charge): ProcessorCharge {
  const paymentId = namedPayment(charge.metadata);
  const operationId = charge.metadata['operation'];
  return {
    chargeId: charge.id,
    ...defined({ paymentId, operationId }),
    status: charge.status,
    amountMinor: charge.amount,
    capturedMinor: charge.amount_captured,
    currency: charge.currency,
    ...feesOfCharge(charge),
    ...(charge.action_url === null ? {} : { actionUrl: charge.action_url }),
    ...(charge.failure === null ? {} : { failure: sanitizedFailure(charge.failure) }),
    ...(charge.void_reason === null ? {} : { cancelReason: charge.void_reason }),
    refunds: charge.refunds.map((refund) => ({
      kind: 'refund',
      ...refundName(refund.id, refund.metadata['operation']),
      chargeId: charge.id,
      amountMinor: refund.amount,
      status: refund.status,
    })),
    disputes: charge.disputes.map(({ id, amount, status }) => ({
      kind: 'dispute',
      disputeId: id,
      chargeId: charge.id,
      amountMinor: amount,
      status,
    })),
    createdAtSeconds: charge.created,
  };
}

export function feesOfCharge({ fee, fee_currency: settledIn, currency, disputes }: Charge): Fees {
  const amounts = [fee ?? [], ...disputes.map((dispute) => dispute.fee ?? [])].flat();
  return sumFees(
    amounts.map((amountMinor) => ({ amountMinor, currency: settledIn ?? currency })),
    currency,
  );
}
