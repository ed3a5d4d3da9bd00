import * as z from 'zod';
import { EVENT_VERSION, PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { order } from '../../orders/http/order-object.ts';
import { TRANSITION_TYPES } from '../../payments/domain/payment.ts';
import { account } from '../../payments/http/payment-answers.ts';
import { dispute, payment, shownAmount, unixSeconds } from '../../payments/http/payment-objects.ts';
import { MAX_EXAMINED } from '../use/list-page.ts';

/* Response schemas of the lists that are read from the Views. */

export const LAGS =
  'The list is derived from events and lags by about a second; objects that are read by id do not lag.';

const hasMore = z.boolean().meta({
  description:
    'Whether there are more objects in the requested direction: older ones, or, with `ending_before`, newer ones.',
});

const nextCursor = z
  .string()
  .exactOptional()
  .meta({
    description:
      'Present if `has_more` is true. Send it as `starting_after` (or `ending_before`) to get the next page. ' +
      `A page can be short or empty although more objects follow: each page examines at most ${MAX_EXAMINED} objects, ` +
      'and only a few more than `limit` if the list is filtered by `reference` or `email`, or if listed objects no longer match.',
  });

const listOf = (entry: z.ZodType) =>
  z.looseObject({
    object: z.literal('list'),
    data: z.array(entry).meta({ description: 'Newest first.' }),
    has_more: hasMore,
    next_cursor: nextCursor,
  });

export const paymentList = listOf(payment).meta({ id: 'PaymentList' });

export const disputeList = listOf(dispute).meta({ id: 'DisputeList' });

export const orderList = listOf(order).meta({ id: 'OrderList' });

export const event = z
  .looseObject({
    id: z
      .string()
      .regex(/^evt_(ord_)?[a-z2-7]{32}\d{6}[a-z2-7]{10}$/)
      .meta({
        description: 'The id of the event, the same in every delivery.',
        example: 'evt_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp000002mfzwizlttq',
      }),
    object: z.literal('event'),
    type: z.enum(PUBLIC_EVENT_TYPES),
    version: z.literal(EVENT_VERSION).meta({ description: 'The version of the event’s format.' }),
    created: z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 }),
    sequence: z.int().min(1).meta({
      description:
        'Increases with each event of a payment or order; numbers can be missing. Sort events by it, never by time of arrival.',
    }),
    livemode: z.boolean(),
    causation_id: z.string().exactOptional().meta({
      description:
        'The `event_id` of the event that requested the payment. Omitted for a payment that was requested over HTTP.',
    }),
    data: z.looseObject({
      object: z
        .looseObject({ id: z.string(), object: z.string() })
        .meta({ description: 'The payment, order, refund or dispute as of the event.' }),
    }),
  })
  .meta({ id: 'Event' });

export const eventList = listOf(event).meta({ id: 'EventList' });

const volume = z
  .looseObject({
    object: z.literal('volume'),
    date: z.iso.date().meta({ description: 'The day, in UTC.' }),
    currency: z.string(),
    outcome: z.enum(PUBLIC_EVENT_TYPES).meta({ description: 'The type of the events.' }),
    count: z.int().min(1).meta({ description: 'The number of events.' }),
    amount: shownAmount('The sum of the events’ amounts'),
  })
  .meta({ id: 'Volume' });

export const volumeList = z
  .looseObject({
    object: z.literal('list'),
    data: z
      .array(volume)
      .meta({ description: 'Oldest first, then by currency and type. Types without events are omitted.' }),
    has_more: z.literal(false),
  })
  .meta({ id: 'VolumeList' });

export const ledgerEntry = z
  .looseObject({
    id: z.string().meta({ description: 'An opaque id; use it as `starting_after`.' }),
    object: z.literal('ledger_entry'),
    payment: payment.shape.id,
    sequence: z.int().min(1).meta({ description: 'The sequence of the transition that posted the entry.' }),
    type: z.enum(TRANSITION_TYPES).meta({ description: 'The type of that transition.' }),
    account,
    direction: z.enum(['debit', 'credit']),
    amount: shownAmount('Always positive'),
    currency: z.string(),
    created: unixSeconds,
  })
  .meta({ id: 'LedgerEntry' });

export const ledgerEntryList = z
  .looseObject({
    object: z.literal('list'),
    data: z
      .array(ledgerEntry)
      .meta({ description: 'Oldest first, then by payment, sequence and position within the transition’s postings.' }),
    has_more: z.boolean().meta({ description: 'Whether there are more entries after this page.' }),
  })
  .meta({ id: 'LedgerEntryList' });

const balance = z
  .looseObject({
    object: z.literal('balance'),
    account,
    currency: z.string(),
    debit: shownAmount('The sum of all debits'),
    credit: shownAmount('The sum of all credits'),
    normal_balance: z.enum(['debit', 'credit']).meta({
      description:
        'The side on which the account grows: `credit` for `merchant_payable` and `late_receipts`, `debit` for the others.',
    }),
    balance: z.int().meta({
      description:
        'In minor units: `debit` minus `credit` if `normal_balance` is `debit`, otherwise `credit` minus `debit`. ' +
        '`processor_clearing` and `merchant_payable` are thus normally positive. A negative balance is on the opposite side.',
    }),
  })
  .meta({ id: 'Balance' });

export const balanceList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(balance).meta({ description: 'The balance of each account that has entries, by currency.' }),
    has_more: z.literal(false),
  })
  .meta({ id: 'BalanceList' });
