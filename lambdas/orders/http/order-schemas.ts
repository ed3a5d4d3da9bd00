import * as z from 'zod';
import { createPaymentBody } from '../../payments/http/payment-objects.ts';

/** The API documents are generated from these schemas. */

/** Bounds the size of an order's rows and responses. */
const MAX_ITEMS = 50;
const MAX_QUANTITY = 1_000_000;
/** The 256-octet path limit of RFC 5321, section 4.5.3.1.3, minus the angle brackets. */
const MAX_EMAIL_LENGTH = 254;

const sku = z
  .string('must be a string')
  .regex(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, colons, dashes or _')
  .meta({ description: 'The id of the item in the stock service.', example: 'sku_tea' });

const quantity = z
  .int('must be a JSON integer')
  .min(1, 'must be at least 1')
  .max(MAX_QUANTITY, `must be at most ${MAX_QUANTITY}`)
  .meta({ description: 'The number of items.', example: 2 });

const items = z
  .array(z.strictObject({ sku, quantity }), 'must be a list of items')
  .min(1, 'must have at least one item')
  .max(MAX_ITEMS, `must have at most ${MAX_ITEMS} items`)
  .meta({ description: 'The items to reserve in the stock, all or none.', example: [{ sku: 'sku_tea', quantity: 2 }] });

const email = z
  .email('must be an e-mail address')
  .max(MAX_EMAIL_LENGTH, `must be at most ${MAX_EMAIL_LENGTH} characters`)
  .meta({ description: 'The recipient of the confirmation e-mail.', example: 'ada@example.com' });

const partner = z
  .string('must be a string')
  .regex(/^[A-Za-z0-9_.:-]{1,255}$/, 'must be 1 to 255 letters, digits, dots, colons, dashes or _');

const referrer = partner.meta({
  description:
    'The person who referred the customer. The shop credits this person with 5 % of the amount, rounded down.',
  example: 'ref_friend',
});

const affiliate = partner.meta({
  description:
    'The affiliate who receives a commission: 10 % of the amount that you keep, rounded down, once the order is completed and its lock period is over.',
  example: 'aff_7',
});

const shopOrder = z
  .int('must be a JSON integer')
  .min(1, 'must be at least 1')
  .max(2_147_483_647, 'must be at most 2147483647')
  .meta({
    description:
      'The shop’s order number. With BigCommerce, Payonce adds its own order id to the staff notes of the shop’s order.',
    example: 118,
  });

/** The first invalid field in this sequence is reported. The amount is validated as in a payment. */
export const createOrderBody = z
  .strictObject({
    amount: createPaymentBody.shape.amount,
    currency: createPaymentBody.shape.currency,
    source: createPaymentBody.shape.source,
    items,
    email,
    referrer: referrer.optional(),
    affiliate: affiliate.optional(),
    shop_order: shopOrder.optional(),
    return_url: createPaymentBody.shape.return_url,
  })
  .superRefine(({ amount, currency, source }, context) => {
    const money = createPaymentBody.safeParse({ amount, currency, source });
    for (const { path, message } of money.error?.issues ?? []) {
      context.addIssue({ code: 'custom', path, message });
    }
  })
  .meta({ id: 'CreateOrder' });
