import * as z from 'zod';
import { pageLimit } from '../../http/lists.ts';
import { wholeNumber } from '../../http/validate.ts';
import { CURRENCIES, isCurrency, largestAmountMinor } from '../../kernel/currency.ts';

/** The schemas of requests. The API documents are generated from them. */

const MAX_METADATA_KEYS = 50;
const MAX_METADATA_KEY_LENGTH = 40;
const MAX_METADATA_VALUE_LENGTH = 500;
/** All keys and values together, in UTF-8 bytes. It bounds the size of a payment's first row. */
const MAX_METADATA_BYTES = 2_048;

/** The largest limit of all currencies. Minor units. Each currency has its own limit, checked below. */
const LARGEST_AMOUNT = Math.max(...CURRENCIES.map((code) => largestAmountMinor(code) ?? 0));

const utf8 = new TextEncoder();

const amount = z
  .int('must be a JSON integer of minor units, for example 1000 for 10.00 EUR')
  .min(1, 'must be at least 1')
  .max(LARGEST_AMOUNT, `must be at most ${LARGEST_AMOUNT}`)
  .meta({
    description:
      'In minor units of the currency; at most 10 digits for currencies without decimals, 12 for the others.',
    example: 1000,
  });

const currency = z
  .string('must be a string')
  .refine(isCurrency, 'must be an active ISO 4217 code in upper case, for example EUR')
  .meta({ description: 'ISO 4217, upper case.', enum: [...CURRENCIES], example: 'EUR' });

const source = z
  .string('must be a string')
  .regex(/^[A-Za-z0-9_.-]{1,255}$/, 'must be a token of your processor: 1 to 255 letters, digits, dots, dashes or _')
  .meta({ description: 'The processor’s token for a card or an account. Never a card number.', example: 'tok_ok' });

const capture = z.enum(['automatic', 'manual'], 'must be automatic or manual').meta({
  description: '`automatic` captures at once; `manual` only authorizes.',
  default: 'automatic',
});

const reference = z
  .string('must be a string')
  .min(1, 'must not be empty')
  .max(255, 'must be at most 255 characters')
  .meta({
    description:
      'Your name for the purchase. It is unique among payments that are not failed or canceled, and compared byte by byte.',
    example: 'order-6735',
  });

const description = z
  .string('must be a string')
  .max(500, 'must be at most 500 characters')
  .meta({ description: 'Free text, stored unchanged.', example: 'Two shirts' });

const metadata = z
  .record(
    z.string().min(1, 'a key must not be empty').max(MAX_METADATA_KEY_LENGTH, 'a key must be at most 40 characters'),
    z.string('must be a string').max(MAX_METADATA_VALUE_LENGTH, 'must be at most 500 characters'),
    'must be an object of strings',
  )
  .refine((value) => Object.keys(value).length <= MAX_METADATA_KEYS, `must have at most ${MAX_METADATA_KEYS} keys`)
  .refine((value) => utf8Bytes(value) <= MAX_METADATA_BYTES, `must be at most ${MAX_METADATA_BYTES} bytes in all`)
  .meta({
    description:
      'Your own data: at most 50 keys of 1 to 40 characters with strings of at most 500, together at most 2048 bytes. ' +
      'After the capture, Payonce sends a receipt to `receipt_email` and records a commission for `affiliate`.',
    example: { order: '6735' },
  });

function utf8Bytes(value: Readonly<Record<string, string>>): number {
  return Object.entries(value).reduce((sum, [key, text]) => sum + utf8.encode(key + text).length, 0);
}

/** The first invalid field is reported, in this order of fields. */
export const createPaymentBody = z
  .strictObject({
    amount,
    currency,
    source,
    capture: capture.optional(),
    reference: reference.optional(),
    description: description.optional(),
    metadata: metadata.optional(),
  })
  .superRefine((body, context) => {
    const largest = largestAmountMinor(body.currency);
    if (largest === undefined || body.amount <= largest) return;
    context.addIssue({
      code: 'custom',
      path: ['amount'],
      message: `must be at most ${largest} for ${body.currency}`,
    });
  })
  .meta({ id: 'CreatePayment' });

const partOf = (whole: string) =>
  amount.optional().meta({ description: `In minor units. Defaults to ${whole}.`, example: 300 });

export const captureBody = z.strictObject({ amount: partOf('the authorized amount') }).meta({ id: 'CapturePayment' });

export const cancelBody = z.strictObject({}).meta({ id: 'CancelPayment' });

export const refundBody = z
  .strictObject({
    amount: partOf('the amount that is left'),
    reason: z
      .string('must be a string')
      .min(1, 'must not be empty')
      .max(200, 'must be at most 200 characters')
      .optional()
      .meta({ description: 'Free text, stored unchanged.', example: 'Returned' }),
  })
  .meta({ id: 'RefundPayment' });

/** The sort key of a transition has six digits. */
const MAX_SEQUENCE = 999_999;

export const transitionPageQuery = z.strictObject({
  limit: pageLimit('transitions'),
  starting_after: wholeNumber(
    0,
    MAX_SEQUENCE,
    'The sequence of the last transition that you have: the page begins after it.',
  ),
});
