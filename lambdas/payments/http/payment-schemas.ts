import * as z from 'zod';
import { pageLimit } from '../../http/lists.ts';
import { wholeNumber } from '../../http/validate.ts';
import { CURRENCIES, isCurrency, largestAmountMinor } from '../../kernel/currency.ts';

/** What the routes take. The API's documents are made from these same schemas. */

const MAX_METADATA_KEYS = 50;
const MAX_METADATA_KEY_LENGTH = 40;
const MAX_METADATA_VALUE_LENGTH = 500;
/** All keys and values together, in UTF-8: the row that holds them must stay small. */
const MAX_METADATA_BYTES = 2_048;

/** Of any currency; each has its own limit. Minor units. */
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
  .meta({ description: 'A token of the processor for what is charged. Never a card number.', example: 'tok_ok' });

const capture = z.enum(['automatic', 'manual'], 'must be automatic or manual').meta({
  description: 'Take the money at once, or only reserve it. Automatic when left out.',
  default: 'automatic',
});

const reference = z
  .string('must be a string')
  .min(1, 'must not be empty')
  .max(255, 'must be at most 255 characters')
  .meta({
    description:
      'Your own name for what is paid. One payment at a time holds a reference; it is compared byte by byte.',
    example: 'order-6735',
  });

const description = z
  .string('must be a string')
  .max(500, 'must be at most 500 characters')
  .meta({ description: 'For people; kept as it is.', example: 'Two shirts' });

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
      'Two mean something here: `receipt_email` gets a receipt, and `affiliate` a commission, once the payment is taken.',
    example: { order: '6735' },
  });

function utf8Bytes(value: Readonly<Record<string, string>>): number {
  return Object.entries(value).reduce((sum, [key, text]) => sum + utf8.encode(key + text).length, 0);
}

/** The fields in the order in which the first fault is reported. */
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
  amount.optional().meta({ description: `In minor units; ${whole} when left out.`, example: 300 });

export const captureBody = z.strictObject({ amount: partOf('all that was set aside') }).meta({ id: 'CapturePayment' });

export const cancelBody = z.strictObject({}).meta({ id: 'CancelPayment' });

export const refundBody = z
  .strictObject({
    amount: partOf('all that is left'),
    reason: z
      .string('must be a string')
      .min(1, 'must not be empty')
      .max(200, 'must be at most 200 characters')
      .optional()
      .meta({ description: 'For people; kept as it is.', example: 'Returned' }),
  })
  .meta({ id: 'RefundPayment' });

/** A sequence has at most six digits in its key. */
const MAX_SEQUENCE = 999_999;

export const transitionPageQuery = z.strictObject({
  limit: pageLimit('transitions'),
  starting_after: wholeNumber(
    0,
    MAX_SEQUENCE,
    'The sequence of the last transition that you have: the page begins after it.',
  ),
});
