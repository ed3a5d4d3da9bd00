import * as z from 'zod';
import { ORDER_STATUSES } from '../domain/order.ts';
import { SHOWN_EMAIL, SHOWN_REFERRAL } from '../domain/order-answer.ts';

/** An order as it is answered. Objects are open: a client must pass over fields that it does not know. */
export const order = z
  .looseObject({
    id: z
      .string()
      .regex(/^ord_[a-z2-7]{32}$/)
      .meta({ example: 'ord_q6hz4m2nrb7vwy3k3jx5aqt5ocdeflgu' }),
    object: z.literal('order'),
    status: z.enum(ORDER_STATUSES).meta({
      description:
        '`processing`: not done yet, or being undone; GET shows what becomes of it. `completed`: paid and reserved. ' +
        '`canceled`: nothing was charged, or all of it was given back, and nothing is reserved. `needs_review`: nobody ' +
        'can tell what became of its payment, or it cannot be given back; a person looks after it.',
    }),
    amount: z.int().min(1).meta({ description: 'What is charged, in minor units.' }),
    currency: z.string().meta({ example: 'EUR' }),
    items: z.array(z.looseObject({ sku: z.string(), quantity: z.int().min(1) })),
    email: z.string().nullable().meta({ description: 'Null only after it was erased.' }),
    referrer: z.string().nullable(),
    details_erased: z
      .literal(true)
      .exactOptional()
      .meta({ description: '`email` and `referrer` were erased. Omitted otherwise.' }),
    payment: z
      .string()
      .regex(/^pay_[a-z2-7]{32}$/)
      .meta({
        description:
          'Its payment, at `/v1/payments/{id}`: what a payer must do first is shown there, as `next_action`.',
      }),
    reservation: z.string().nullable().meta({ description: 'As the stock names it; null while there is none.' }),
    notifications: z.looseObject({
      email: z.enum(SHOWN_EMAIL).meta({
        description:
          'The confirmation. `delayed`: it could not be sent yet, and is tried for three days. `unknown`: it may have ' +
          'gone out, and is not sent again by itself. It never undoes the order.',
      }),
    }),
    referral: z.enum(SHOWN_REFERRAL).meta({
      description: 'The credit of who brought the customer; tried for three days. It never undoes the order.',
    }),
    failure: z
      .looseObject({ code: z.string(), message: z.string() })
      .nullable()
      .meta({ description: 'Why it cannot be fulfilled: from then on it is undone.' }),
    created: z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 }),
    livemode: z.boolean(),
  })
  .meta({ id: 'Order' });
