import * as z from 'zod';
import { EVENT_VERSION, PUBLIC_EVENT_TYPES } from '../events/domain/event.ts';
import { order } from '../orders/http/order-object.ts';
import { dispute, payment, shownAmount } from '../payments/http/payment-objects.ts';
import { MAX_EXAMINED } from '../views/use/list-page.ts';

/** Schemas of the answers of lists that are shown newest first. */

export const LAGS =
  'The list is derived from events and lags by about a second; objects that are read by id do not lag.';

const hasMore = z.boolean().meta({
  description: 'Whether there are more in the requested direction: older ones, or newer ones with `ending_before`.',
});

const nextCursor = z
  .string()
  .exactOptional()
  .meta({
    description:
      'Given while `has_more` is true: request the next page with it as `starting_after`, or as `ending_before`. It is the last ' +
      `id that was examined. A page is full unless no more than ${MAX_EXAMINED} entries were examined and too few of them match ` +
      'the filters; it can then be short or empty although there are more.',
  });

const listOf = (entry: z.ZodType) =>
  z.looseObject({
    object: z.literal('list'),
    data: z.array(entry).meta({ description: 'Newest first.' }),
    has_more: hasMore,
    next_cursor: nextCursor,
  });

export const paymentList = listOf(payment).meta({ id: 'PaymentList' });

const minor = (what: string) =>
  z
    .int()
    .min(0)
    .meta({ description: `${what}, in minor units.` });

/** Refunds and disputes in the processor's form. */
const atProcessor = z.array(z.looseObject({ id: z.string(), status: z.string(), amount: minor('The amount') }));

export const charge = z
  .looseObject({
    id: z.string().meta({ description: 'The id at the processor.', example: 'ch_k3jx5aqhz4m2' }),
    object: z.literal('charge'),
    processor: z.string().meta({ description: 'The name of the processor.' }),
    own: z.boolean().meta({ description: 'Whether the request of this payment made the charge.' }),
    status: z.enum(['pending', 'requires_action', 'authorized', 'succeeded', 'declined', 'voided']),
    amount: minor('The requested amount'),
    amount_captured: minor('The captured amount'),
    currency: z.string(),
    fee: minor('The processor’s fees for the charge, its refunds and disputes, in its currency').nullable(),
    other_fees: z
      .array(z.looseObject({ amount: minor('The fee'), currency: z.string() }))
      .exactOptional()
      .meta({ description: 'Its fees in other currencies. Omitted when there are none.' }),
    failure: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
    refunds: atProcessor,
    disputes: atProcessor,
    created: z.int().meta({ description: 'Unix time in seconds.' }),
  })
  .meta({ id: 'Charge' });

export const chargeList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(charge).meta({ description: 'All charges with the payment’s id in their metadata, oldest first.' }),
    has_more: z.literal(false),
  })
  .meta({ id: 'ChargeList' });

export const disputeList = listOf(dispute).meta({ id: 'DisputeList' });

export const orderList = listOf(order).meta({ id: 'OrderList' });

export const event = z
  .looseObject({
    id: z
      .string()
      .regex(/^evt_(ord_)?[a-z2-7]{32}\d{6}[a-z2-7]{10}$/)
      .meta({
        description: 'The same for every delivery of the event.',
        example: 'evt_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp000002mfzwizlttq',
      }),
    object: z.literal('event'),
    type: z.enum(PUBLIC_EVENT_TYPES),
    version: z.literal(EVENT_VERSION).meta({ description: 'The version of the event’s format.' }),
    created: z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 }),
    sequence: z.int().min(1).meta({
      description: 'The event’s place among the events of its payment or order. Order events by it, never by arrival.',
    }),
    livemode: z.boolean(),
    causation_id: z.string().exactOptional().meta({
      description:
        'The `event_id` of the event that requested the payment. Omitted for a payment that was requested over HTTP.',
    }),
    data: z.looseObject({
      object: z
        .looseObject({ id: z.string(), object: z.string() })
        .meta({ description: 'The payment, order, refund or dispute at that time.' }),
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
    amount: shownAmount('The sum of their amounts'),
  })
  .meta({ id: 'Volume' });

export const volumeList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(volume).meta({ description: 'Oldest first, then by currency. Types without events are omitted.' }),
    has_more: z.literal(false),
  })
  .meta({ id: 'VolumeList' });
