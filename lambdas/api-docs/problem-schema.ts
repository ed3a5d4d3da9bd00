import * as z from 'zod';
import { PROBLEMS } from '../http/problems.ts';
import { order } from '../orders/http/order-object.ts';
import { PAYMENT_STATUSES } from '../payments/domain/payment.ts';
import { payment, refund, shownAmount } from '../payments/http/payment-objects.ts';

const codes = z.enum(Object.keys(PROBLEMS));

export const problem = z
  .looseObject({
    type: z.string().meta({
      description: 'The address of the explanation, relative to the address of the request.',
      format: 'uri-reference',
      example: '../docs/problems#invalid_json',
    }),
    title: z.string(),
    status: z.int(),
    code: codes.meta({ description: 'Stable. Programs should decide by this member only.' }),
    detail: z.string().meta({ description: 'For people; may change.' }),
    param: z.string().optional().meta({ description: 'The field at fault.', example: 'metadata.order' }),
    request_id: z.string(),
    payment_id: z.string().optional().meta({ description: 'The conflicting payment.' }),
    payment_status: z
      .enum(PAYMENT_STATUSES)
      .optional()
      .meta({ description: 'The status that does not allow the change.' }),
    decidable_from: z
      .int()
      .optional()
      .meta({ description: 'The time from which an operator may decide the change; Unix seconds.' }),
    amount_left: shownAmount('What is left').optional(),
    processor_amount: shownAmount('The amount that the processor shows as captured, held or refunded').optional(),
    processor_currency: z
      .string()
      .optional()
      .meta({ description: 'The currency of `processor_amount`.', example: 'EUR' }),
    payment: payment
      .optional()
      .meta({ description: 'The payment that failed or was canceled; after a failed change, the unchanged payment.' }),
    refund: refund.optional().meta({ description: 'The refund that failed.' }),
    order: order.optional().meta({ description: 'The order that was canceled.' }),
    order_id: z.string().optional().meta({ description: 'The conflicting order.' }),
    correction_id: z.string().optional().meta({ description: 'The conflicting correction.' }),
  })
  .meta({ id: 'Problem', description: 'RFC 9457.' });
