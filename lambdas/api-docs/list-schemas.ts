import * as z from 'zod';
import { EVENT_VERSION, PUBLIC_EVENT_TYPES } from '../events/domain/event.ts';
import { payment } from '../payments/http/payment-objects.ts';

/** What the lists answer that are shown newest first. */

const hasMore = z.boolean().meta({
  description: 'Whether there are more in the requested direction: older ones, or newer ones with `ending_before`.',
});

export const paymentList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(payment).meta({ description: 'Newest first.' }),
    has_more: hasMore,
  })
  .meta({ id: 'PaymentList' });

export const event = z
  .looseObject({
    id: z
      .string()
      .regex(/^evt_(ord_)?[a-z2-7]{32}\d{6}[a-z2-7]{10}$/)
      .meta({
        description: 'The same however often the event is delivered.',
        example: 'evt_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp000002mfzwizlttq',
      }),
    object: z.literal('event'),
    type: z.enum(PUBLIC_EVENT_TYPES),
    version: z.literal(EVENT_VERSION).meta({ description: 'The version of the event’s format.' }),
    created: z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 }),
    sequence: z.int().min(1).meta({
      description: 'The event’s place among those of its payment or order. Order events by it, never by arrival.',
    }),
    livemode: z.boolean(),
    data: z.looseObject({
      object: z
        .looseObject({ id: z.string(), object: z.string() })
        .meta({ description: 'The payment, order, refund or dispute at that time.' }),
    }),
  })
  .meta({ id: 'Event' });

export const eventList = z
  .looseObject({
    object: z.literal('list'),
    data: z.array(event).meta({ description: 'Newest first.' }),
    has_more: hasMore,
  })
  .meta({ id: 'EventList' });
