import * as z from 'zod';
import { PAYMENT_STATUSES } from '../../payments/domain/payment.ts';
import { unixSeconds } from '../../payments/http/payment-objects.ts';
import { MISMATCH_KINDS } from '../domain/compare-books.ts';
import { MISMATCH_ID } from '../domain/mismatch-view.ts';

export const mismatch = z
  .looseObject({
    id: z.string().regex(MISMATCH_ID).meta({ example: 'mis_mm7d0qo0_k3jx5aqhz4m2nrb7vwy6t5ocde' }),
    object: z.literal('mismatch'),
    tenant: z.string().nullable().meta({ description: 'Null when the payment does not exist.' }),
    mode: z.enum(['test', 'live']).nullable(),
    payment: z.string().nullable().meta({
      description:
        'The payment id in the charge’s metadata, even if that payment does not exist; null if the metadata contains no payment id.',
    }),
    payment_status: z.enum(PAYMENT_STATUSES).nullable().meta({ description: 'Null when the payment does not exist.' }),
    currency: z.string(),
    processor_amount: z.int().meta({
      description:
        'According to the processor, in minor units: the captured amounts minus succeeded refunds and open or lost disputes, over all ' +
        'charges with the payment’s id, before fees. For `fees_differ`: the processor’s fees for the charge, its refunds and disputes.',
    }),
    ledger_amount: z.int().meta({
      description:
        'According to the Ledger, in minor units: debits minus credits of `processor_clearing` over all transitions of the payment, ' +
        'including corrections and excluding fees. For `fees_differ`: the posted fees.',
    }),
    difference: z.int().meta({ description: '`processor_amount` minus `ledger_amount`.' }),
    charges: z.array(z.string()).meta({ description: 'The charges at the processor, in this currency.' }),
    kind: z.enum(MISMATCH_KINDS).meta({
      description:
        '`missing_in_ledger`: the Ledger has no posting. `missing_at_processor`: no charge at the processor has captured money. ' +
        '`amounts_differ`: both have the money, with different amounts. ' +
        '`charges_differ`: the totals agree, but the amounts of the listed charges do not; their differences cancel each other out. ' +
        '`fees_differ`: the amounts agree, but the processor’s fees do not.',
    }),
    processor: z
      .object({
        name: z.string(),
        mode: z.enum(['test', 'live']).meta({ description: 'The mode of the processor’s books.' }),
        account: z.string().meta({ description: 'The account at the processor.' }),
      })
      .meta({ description: 'The processor whose books differ.' }),
    status: z.enum(['suspected', 'confirmed']).meta({
      description:
        '`suspected`: not confirmed yet; it disappears at the next comparison if the payment was just changing. `confirmed`: the books ' +
        'have differed by the same amount for at least ten minutes, and an alarm was raised.',
    }),
    first_seen: unixSeconds,
    last_seen: unixSeconds,
  })
  .meta({ id: 'Mismatch' });

export const mismatchList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(mismatch).meta({ description: 'Newest payment first.' }),
    has_more: z.boolean(),
    compared_until: unixSeconds.nullable().meta({
      description:
        'Time before which everything was compared, in Unix seconds. It is at least fifteen minutes ago, and does not advance while a comparison fails. Null before the first complete comparison.',
    }),
  })
  .meta({ id: 'MismatchList' });
