import * as z from 'zod';
import { ORDER_STATUSES } from '../domain/order.ts';
import { SHOWN_EMAIL, SHOWN_REFERRAL } from '../domain/order-answer.ts';

/** Objects are open: a client must ignore unknown fields. */
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
        '`canceled`: not charged, or the charge was reversed; nothing is reserved. `needs_review`: the outcome of ' +
        'the payment cannot be determined, or the reversal does not complete; an operator must act.',
    }),
    amount: z.int().min(1).meta({ description: 'The requested amount, in minor units.' }),
    currency: z.string().meta({ example: 'EUR' }),
    items: z.array(z.looseObject({ sku: z.string(), quantity: z.int().min(1) })),
    email: z.string().nullable().meta({ description: 'Null only after the address was erased.' }),
    referrer: z.string().nullable(),
    affiliate: z
      .string()
      .exactOptional()
      .meta({ description: 'Omitted if the order has no affiliate, or after an erasure.' }),
    shop_order: z.int().exactOptional().meta({ description: 'As requested. Omitted if none was requested.' }),
    return_url: z
      .string()
      .exactOptional()
      .meta({ description: 'As requested. Omitted if none was requested, or after an erasure.' }),
    details_erased: z
      .literal(true)
      .exactOptional()
      .meta({ description: '`email`, `referrer`, `affiliate` and `return_url` were erased. Omitted otherwise.' }),
    payment: z
      .string()
      .regex(/^pay_[a-z2-7]{32}$/)
      .meta({
        description:
          'The id of the order’s payment. If the payer must act, `GET /v1/payments/{id}` returns the `next_action`.',
      }),
    reservation: z
      .string()
      .nullable()
      .meta({ description: 'The stock service’s id of the reservation. Null if there is none.' }),
    notifications: z.looseObject({
      email: z.enum(SHOWN_EMAIL).meta({
        description:
          'State of the confirmation e-mail. `none`: not sent, because the order was canceled first. `delayed`: not sent yet; it will be retried. `unknown`: it may have ' +
          'been sent, and is not sent again automatically. `failed`: it was refused, or all attempts failed; in the latter case, an operator may still send it. ' +
          '`capped`: not sent, because the recipient had reached your daily limit. A failed e-mail never reverses the order.',
      }),
    }),
    referral: z.enum(SHOWN_REFERRAL).meta({
      description:
        'State of the referrer’s credit. `none`: there is no referrer, the credit would be zero, or the order was canceled first. `failed`: it was refused, or all attempts failed; in the latter case, an operator may still give it. ' +
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
