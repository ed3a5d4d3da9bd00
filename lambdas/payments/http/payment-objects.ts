import * as z from 'zod';
import { type Parsed, refused } from '../../http/problems.ts';
import { freeLines, freeText, ifUsed } from '../../http/validate.ts';
import { MetadataName } from '../../kernel/contract/metadata.ts';
import { ACTIVE_CURRENCIES, CURRENCIES, largestAmountMinor } from '../../kernel/currency.ts';
import { everyField } from '../../kernel/fields.ts';
import type { Mode } from '../../kernel/ids.ts';
import { ONE_LINE } from '../../kernel/one-line.ts';
import { webUrl } from '../../kernel/platform/web-url.ts';
import type { PaymentField, PaymentNotes, PaymentTerms } from '../domain/payment.ts';
import { CANCEL_REASONS, DISPUTE_STATUSES, PAYMENT_STATUSES } from '../domain/payment.ts';

/** Objects in responses are open: a client must ignore unknown fields. */

// ------------------------------------------------------------------------------------------------------------ requests

const MAX_METADATA_KEYS = 50;
const MAX_METADATA_KEY_LENGTH = 40;
const MAX_METADATA_VALUE_LENGTH = 500;
/** Maximum total size of all keys and values, in UTF-8 bytes. It bounds the size of a payment's details row. */
const MAX_METADATA_BYTES = 2_048;

/**
 * The highest amount limit of any currency, in minor units. The limit of the request's currency is checked separately.
 */
export const LARGEST_AMOUNT = Math.max(...CURRENCIES.map((code) => largestAmountMinor(code) ?? 0));

const utf8 = new TextEncoder();

export const amount = z
  .int('must be a JSON integer, in minor units: for example 1000 for 10.00 EUR')
  .min(1, 'must be at least 1')
  .max(LARGEST_AMOUNT, `must be at most ${LARGEST_AMOUNT}`)
  .meta({
    description: 'In minor units; at most 10 digits for currencies without decimals, 12 for the others.',
    example: 1000,
  });

const currency = z
  .string('must be a string')
  .refine((code) => ACTIVE_CURRENCIES.includes(code), 'must be an active ISO 4217 code in upper case, for example EUR')
  .meta({ description: 'ISO 4217, upper case.', enum: [...ACTIVE_CURRENCIES], example: 'EUR' });

const source = z
  .string('must be a string')
  .regex(/^[A-Za-z0-9_.-]{1,255}$/, 'must be a token from your processor: 1 to 255 letters, digits, dots, dashes or _')
  .meta({ description: 'The processor’s token for a card or an account. Never a card number.', example: 'tok_ok' });

const capture = z.enum(['automatic', 'manual'], 'must be automatic or manual').meta({
  // No `default`, because code generators would make the field required.
  description: '`automatic` (default) captures immediately; `manual` only authorizes, if the processor supports holds.',
});

const reference = freeText(255, 1).meta({
  description: 'Your name for the purchase, unique among payments that are not failed or canceled.',
  example: 'order-6735',
});

const description = freeText(500).meta({ description: 'Free text, stored unchanged.', example: 'Two shirts' });

const metadata = z
  .record(
    freeText(MAX_METADATA_KEY_LENGTH, 1, 'has a key that '),
    freeLines(MAX_METADATA_VALUE_LENGTH),
    'must be an object of strings',
  )
  .refine((value) => Object.keys(value).length <= MAX_METADATA_KEYS, `must have at most ${MAX_METADATA_KEYS} keys`)
  .refine((value) => utf8Bytes(value) <= MAX_METADATA_BYTES, `must be at most ${MAX_METADATA_BYTES} bytes in total`)
  .superRefine((value, context) => {
    // Payonce shows some metadata fields in e-mails and lists, where each must fit on one line.
    for (const name of Object.values(MetadataName)) {
      if (ONE_LINE.test(value[name] ?? '')) continue;
      context.addIssue({ code: 'custom', message: 'must be one line without control characters', path: [name] });
    }
  })
  .meta({
    description:
      'Your own data: at most 50 keys of 1 to 40 characters with values of at most 500 characters, together at most 2048 bytes. ' +
      'Values may have line breaks and tabs, except those of `receipt_email`, `affiliate`, `order` and `order_id`. ' +
      'After the capture, `receipt_email` gets a receipt and `affiliate` a commission.',
    example: { order: '6735' },
    maxProperties: MAX_METADATA_KEYS,
  });

/** Bounds the size of a payment's details row. */
const MAX_URL_LENGTH = 1_024;
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]']);

const returnUrl = z
  .string('must be a string')
  .max(MAX_URL_LENGTH, `must be at most ${MAX_URL_LENGTH} characters`)
  .refine(
    (value) => isReturnUrl(value),
    'must be an https URL without user name and password; in test mode also http on localhost, 127.0.0.1 or [::1]',
  )
  .meta({
    description:
      'The page to which the payer returns after an action (`next_action`): https, or in test mode http on a loopback host. ' +
      'Default: the page of the deployment.',
    format: 'uri',
    example: 'https://shop.example/done',
  });

function isReturnUrl(value: string): boolean {
  const url = /^[\x21-\x7e]+$/.test(value) ? webUrl(value) : undefined;
  return url !== undefined && (url.protocol === 'https:' || isLoopback(url));
}

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && LOOPBACK.has(hostname);
}

/** Refuses an http page on a loopback host in live mode, because only the payer's own machine could reach it. */
export function loopbackProblem(mode: Mode, returnTo: string | undefined): Parsed<never> | undefined {
  const url = returnTo === undefined || mode === 'test' ? undefined : webUrl(returnTo);
  if (url === undefined || !isLoopback(url)) return undefined;
  return refused('invalid_request', 'return_url must be an https URL in live mode.', 'return_url');
}

function utf8Bytes(value: Readonly<Record<string, string>>): number {
  return Object.entries(value).reduce((sum, [key, text]) => sum + utf8.encode(key + text).length, 0);
}

/** Fields are validated in this order; the first invalid field is reported. */
export const createPaymentBody = z
  .strictObject({
    amount,
    currency,
    source,
    capture: capture.optional(),
    reference: reference.optional(),
    description: description.optional(),
    metadata: metadata.optional(),
    return_url: returnUrl.optional(),
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

export function requestedPayment(body: z.infer<typeof createPaymentBody>): PaymentTerms & PaymentNotes {
  return everyField<PaymentTerms & PaymentNotes>({
    amountMinor: body.amount,
    currency: body.currency,
    source: body.source,
    capture: body.capture ?? 'automatic',
    reference: body.reference,
    description: body.description,
    metadata: body.metadata,
    returnUrl: body.return_url,
  });
}

// ------------------------------------------------------------------------------------------------------------- answers

export const shownAmount = (what: string) => shownFee(what, z.int().min(0));
/** Schema of fees, which are negative when the processor has paid back more than it deducted. */
export const shownFee = (what: string, value = z.int()) => value.meta({ description: `${what}, in minor units.` });
export const unixSeconds = /* @__PURE__ */ ifUsed(() =>
  z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 }),
);

const paymentId = /* @__PURE__ */ ifUsed(() =>
  z
    .string()
    .regex(/^pay_[a-z2-7]{32}$/)
    .meta({ example: 'pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp' }),
);

export const dispute = /* @__PURE__ */ ifUsed(() =>
  z
    .looseObject({
      id: z.string().meta({
        description: '`dsp_…`, ending with the processor’s id.',
        example: 'dsp_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp_dp_1PgafmB7WZ01zgkW',
      }),
      object: z.literal('dispute'),
      payment: paymentId,
      charge_id: z.string().meta({ description: 'The disputed charge at the processor.' }),
      amount: shownAmount('The disputed amount'),
      currency: z.string().meta({ example: 'EUR' }),
      status: z.enum(DISPUTE_STATUSES).meta({
        description:
          'The payer’s bank holds the money while the status is `open` or `lost`. `won` means that the money was returned.',
      }),
      created: unixSeconds.meta({ description: 'Time at which Payonce recorded the dispute, in Unix seconds.' }),
    })
    .meta({ id: 'Dispute' }),
);

export const payment = /* @__PURE__ */ ifUsed(() =>
  z
    .looseObject({
      id: paymentId,
      object: z.literal('payment'),
      amount: shownAmount('The requested amount'),
      amount_captured: shownAmount('The captured amount'),
      amount_refunded: shownAmount('The refunded amount'),
      amount_disputed: shownAmount('The sum of open and lost disputes'),
      currency: z.string().meta({ example: 'EUR' }),
      status: z
        .enum(PAYMENT_STATUSES)
        .meta({ description: '`processing` means that the outcome is not known yet. Poll with GET.' }),
      source: z.string(),
      capture: z.enum(['automatic', 'manual']),
      next_action: z
        .looseObject({ type: z.literal('redirect'), url: z.string() })
        .exactOptional()
        .meta({ description: 'The action required of the payer. Present only while the status is `requires_action`.' }),
      processor: z.looseObject({
        name: z.string(),
        charge_id: z.string().nullable(),
        fee: shownFee(
          'Omitted until the processor has reported a fee. The fees for the charge, its refunds and disputes in the payment’s currency',
        ).exactOptional(),
        other_fees: z
          .array(z.looseObject({ amount: shownFee('The fee'), currency: z.string().meta({ example: 'USD' }) }))
          .exactOptional()
          .meta({
            description:
              'The fees in other currencies, if the account is settled in them. Omitted when there are none.',
          }),
      }),
      failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
      cancellation_reason: z
        .string()
        .exactOptional()
        .meta({
          description: 'The reason for the cancellation. Present only while the status is `canceled`.',
          enum: [...CANCEL_REASONS],
        }),
      reference: z.string().nullable(),
      description: z.string().nullable(),
      metadata: z.record(z.string(), z.string()),
      return_url: z
        .string()
        .exactOptional()
        .meta({ description: 'As requested. Omitted if none was requested, or after an erasure.' }),
      details_erased: z
        .literal(true)
        .exactOptional()
        .meta({ description: '`description`, `metadata` and `return_url` were erased. Omitted otherwise.' }),
      disputes: z
        .array(dispute)
        .exactOptional()
        .meta({ description: 'The disputes of the payment, oldest first. Omitted while there are none.' }),
      annotations: z.int().min(1).exactOptional().meta({
        description:
          'Number of annotations by operators (`GET /v1/annotations?payment=…`). Omitted while there are none.',
      }),
      created: unixSeconds,
      livemode: z.boolean(),
    } satisfies Record<PaymentField, z.ZodType>)
    .meta({ id: 'Payment' }),
);

export const refund = /* @__PURE__ */ ifUsed(() =>
  z
    .looseObject({
      id: z.string().meta({
        description:
          '`ref_…`; `rtn_…` if Payonce refunded an unexpected charge. The id of a refund that was made at ' +
          'the processor ends with the processor’s id.',
        example: 'ref_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp2wq7hzd4ynrk5xcb3tmvja6ofe',
      }),
      object: z.literal('refund'),
      payment: paymentId,
      charge_id: z.string().meta({ description: 'The refunded charge at the processor.' }),
      amount: shownAmount('The refunded amount'),
      currency: z.string().meta({ example: 'EUR' }),
      status: z.enum(['pending', 'succeeded', 'failed']).meta({
        description: '`pending` means that the outcome is not known yet. A succeeded refund can still fail days later.',
      }),
      reason: z.string().nullable().meta({ description: 'The reason given in the request.' }),
      details_erased: z.literal(true).exactOptional().meta({ description: 'The reason was erased.' }),
      failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
      created: unixSeconds.meta({
        description:
          'Time of the request, in Unix seconds. For a refund made at the processor: the time at which Payonce recorded it.',
      }),
      livemode: z.boolean(),
    })
    .meta({ id: 'Refund' }),
);
