import * as z from 'zod';
import { createPaymentBody } from '../../payments/http/payment-schemas.ts';

/** What the routes of orders take. The API's documents are made from these same schemas. */

/** The rows and answers that hold them stay small. */
const MAX_ITEMS = 50;
const MAX_QUANTITY = 1_000_000;
/** The longest address that mail can be sent to (RFC 5321, 4.5.3.1.3, without its brackets). */
const MAX_EMAIL_LENGTH = 254;

const sku = z
  .string('must be a string')
  .regex(/^[A-Za-z0-9_.:-]{1,64}$/, 'must be 1 to 64 letters, digits, dots, colons, dashes or _')
  .meta({ description: 'What is ordered, as the stock knows it.', example: 'sku_tea' });

const quantity = z
  .int('must be a JSON integer')
  .min(1, 'must be at least 1')
  .max(MAX_QUANTITY, `must be at most ${MAX_QUANTITY}`)
  .meta({ description: 'How many.', example: 2 });

const items = z
  .array(z.strictObject({ sku, quantity }), 'must be a list of items')
  .min(1, 'must hold at least one item')
  .max(MAX_ITEMS, `must hold at most ${MAX_ITEMS} items`)
  .meta({ description: 'What is reserved in the stock, all or nothing.', example: [{ sku: 'sku_tea', quantity: 2 }] });

const email = z
  .email('must be an e-mail address')
  .max(MAX_EMAIL_LENGTH, `must be at most ${MAX_EMAIL_LENGTH} characters`)
  .meta({ description: 'Where the confirmation goes.', example: 'ada@example.com' });

const referrer = z
  .string('must be a string')
  .regex(/^[A-Za-z0-9_.:-]{1,255}$/, 'must be 1 to 255 letters, digits, dots, colons, dashes or _')
  .meta({
    description: 'Who brought the customer: credited with 5 % of the amount, rounded down.',
    example: 'ref_friend',
  });

/** The fields in the order in which the first fault is reported. The money is checked as a payment's is. */
export const createOrderBody = z
  .strictObject({
    amount: createPaymentBody.shape.amount,
    currency: createPaymentBody.shape.currency,
    source: createPaymentBody.shape.source,
    items,
    email,
    referrer: referrer.optional(),
  })
  .superRefine(({ amount, currency, source }, context) => {
    const money = createPaymentBody.safeParse({ amount, currency, source });
    for (const { path, message } of money.error?.issues ?? []) {
      context.addIssue({ code: 'custom', path, message });
    }
  })
  .meta({ id: 'CreateOrder' });
