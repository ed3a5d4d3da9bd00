import * as z from 'zod';
import { ORDER_STATUSES } from '../domain/order.ts';
import { SHOWN_EMAIL, SHOWN_REFERRAL } from '../domain/order-answer.ts';

/** An order in responses. Objects are open: a client must ignore unknown fields. */
export const order = z
  .looseObject({
    id: z
      .string()
      .regex(/^ord_[a-z2-7]{32}$/)
      .meta({ example: 'ord_q6hz4m2nrb7vwy3k3jx5aqt5ocdeflgu' }),
    object: z.literal('order'),
    status: z.enum(ORDER_STATUSES).meta({
      description:
        '`processing`: in progress, or being reversed; GET returns its progress. `completed`: paid and reserved. ' +
        '`canceled`: nothing was charged, or the charge was reversed, and nothing is reserved. `needs_review`: the ' +
        'outcome of its payment cannot be determined, or its reversal failed; an operator must act.',
    }),
    amount: z.int().min(1).meta({ description: 'The requested amount, in minor units.' }),
    currency: z.string().meta({ example: 'EUR' }),
    items: z.array(z.looseObject({ sku: z.string(), quantity: z.int().min(1) })),
    email: z.string().nullable().meta({ description: 'Null only after the address was erased.' }),
    referrer: z.string().nullable(),
    affiliate: z.string().exactOptional().meta({ description: 'Omitted when the order has no affiliate.' }),
    shop_order: z.int().exactOptional().meta({ description: 'As requested. Omitted when the request named none.' }),
    return_url: z
      .string()
      .exactOptional()
      .meta({ description: 'As requested. Omitted when the default page of the deployment is used.' }),
    details_erased: z
      .literal(true)
      .exactOptional()
      .meta({ description: '`email`, `referrer`, `affiliate` and `return_url` were erased. Omitted otherwise.' }),
    payment: z
      .string()
      .regex(/^pay_[a-z2-7]{32}$/)
      .meta({
        description:
          'The order’s payment, at `/v1/payments/{id}`. Its `next_action` shows an action that the payer must take.',
      }),
    reservation: z
      .string()
      .nullable()
      .meta({ description: 'The stock service’s id of the reservation. Null if there is none.' }),
    notifications: z.looseObject({
      email: z.enum(SHOWN_EMAIL).meta({
        description:
          'State of the confirmation e-mail. `none`: not sent, because the order was canceled first. `delayed`: not sent yet; retried. `unknown`: it may have ' +
          'been sent, and is not sent again automatically. `failed`: it was refused, or all retries failed; an operator may still send it. ' +
          '`capped`: not sent, because the recipient had reached your daily limit. A failed e-mail never reverses the order.',
      }),
    }),
    referral: z.enum(SHOWN_REFERRAL).meta({
      description:
        'State of the referrer’s credit. `none`: there is no referrer, or the order was canceled first. `failed`: it was refused, or all retries failed; an operator may still give it. ' +
        '`no_referral_program`: the shop has no program. `unknown`: no response arrived, so it may have been given. A failed credit never reverses the order.',
    }),
    failure: z
      .looseObject({ code: z.string(), message: z.string() })
      .nullable()
      .meta({ description: 'The reason why the order cannot be fulfilled and is reversed. Null if there is none.' }),
    created: z.int().meta({ description: 'Unix time in seconds.', example: 1772366400 }),
    livemode: z.boolean(),
  })
  .meta({ id: 'Order' });
