import * as z from 'zod';

// The fields of Stripe's objects that Payonce reads. Unknown fields are ignored: Stripe may add fields at any time.

/** Ids have at most 255 characters (Stripe documentation, "API upgrades"). */
const id = z.string().min(1).max(255);
const metadata = z.record(z.string(), z.string());

const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ object: z.literal('list'), data: z.array(item), has_more: z.boolean() });

/** Stripe's balance transaction of a charge, a refund or a dispute, in the account's settlement currency. */
const balanceTransaction = z.object({
  /** Amount in Stripe's minor units: positive when Stripe charges the fee, negative when Stripe refunds it. */
  fee: z.int(),
  currency: z.string(),
  reporting_category: z.string().optional(),
});
export type StripeBalanceTransaction = z.infer<typeof balanceTransaction>;

/** A balance transaction or its id; null before Stripe has booked the amount. */
const booked = z.union([z.string(), balanceTransaction]).nullish();

export const refundObject = z.object({
  id,
  object: z.literal('refund'),
  amount: z.int().min(1),
  currency: z.string(),
  payment_intent: z.string().nullable(),
  status: z.enum(['pending', 'requires_action', 'succeeded', 'failed', 'canceled']),
  failure_reason: z.string().nullish(),
  balance_transaction: booked,
  /** If the refund failed, the balance transaction that reverses `balance_transaction`. */
  failure_balance_transaction: booked,
  metadata: metadata.nullable(),
});
export type StripeRefund = z.infer<typeof refundObject>;
export const refundList = listOf(refundObject);

const disputeObject = z.object({
  id,
  object: z.literal('dispute'),
  livemode: z.boolean(),
  amount: z.int().min(1),
  currency: z.string(),
  payment_intent: z.string().nullable(),
  status: z.enum([
    'warning_needs_response',
    'warning_under_review',
    'warning_closed',
    'needs_response',
    'under_review',
    'appeal_needs_response',
    'appeal_under_review',
    'won',
    'lost',
    'prevented',
  ]),
  /** The balance transactions of the withdrawal and the reinstatement. Empty before Stripe books the withdrawal. */
  balance_transactions: z.array(balanceTransaction),
});
export type StripeDispute = z.infer<typeof disputeObject>;
export const disputeList = listOf(disputeObject);

const charge = z.object({
  id,
  /**
   * Null before Stripe has booked the charge, which can take up to an hour after the capture (Stripe documentation,
   * "Asynchronous capture"). The event `charge.updated` reports the booking.
   */
  balance_transaction: z.union([z.string(), balanceTransaction]).nullable(),
  disputed: z.boolean(),
  /** Present only if expanded. */
  refunds: refundList.nullish(),
});

export const intentObject = z.object({
  id,
  object: z.literal('payment_intent'),
  /** Required: an intent without this field would pass the comparison of modes in `stripeTransport`. */
  livemode: z.boolean(),
  amount: z.int().min(0),
  amount_received: z.int().min(0),
  currency: z.string(),
  capture_method: z.string(),
  status: z.enum([
    'requires_payment_method',
    'requires_confirmation',
    'requires_action',
    'processing',
    'requires_capture',
    'succeeded',
    'canceled',
  ]),
  cancellation_reason: z.string().nullable(),
  last_payment_error: z
    .object({ code: z.string().nullish(), decline_code: z.string().nullish(), message: z.string().nullish() })
    .nullable(),
  next_action: z
    .object({ redirect_to_url: z.object({ url: z.url({ protocol: /^https?$/ }).nullable() }).nullish() })
    .nullable(),
  latest_charge: z.union([z.string(), charge]).nullable(),
  metadata,
  /** Unix seconds. */
  created: z.int(),
});
export type StripeIntent = z.infer<typeof intentObject>;

/**
 * Schema of the fields that the list itself needs from each intent; `intentObject` parses all other fields. Therefore,
 * one unreadable intent does not hide the other intents of its page.
 */
const listedIntent = z.looseObject({
  id,
  object: z.literal('payment_intent'),
  livemode: z.boolean(),
  /** Unix seconds. */
  created: z.int(),
  metadata: z.record(z.string(), z.unknown()).catch({}),
});
export type StripeListedIntent = z.infer<typeof listedIntent>;
export const intentList = listOf(listedIntent);

export const intentSearch = z.object({
  object: z.literal('search_result'),
  data: z.array(z.object({ id, livemode: z.boolean(), metadata })),
  has_more: z.boolean(),
  next_page: z.string().nullish(),
});
