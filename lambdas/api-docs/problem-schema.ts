import * as z from 'zod';
import { PROBLEMS } from '../http/problems.ts';
import { order } from '../orders/http/order-object.ts';
import { PAYMENT_STATUSES } from '../payments/domain/payment.ts';
import { payment, refund, shownAmount } from '../payments/http/payment-objects.ts';

const codes = z.enum(Object.keys(PROBLEMS));

export const problem = z
  .looseObject({
    type: z.string().meta({
      description: 'The URL of the explanation, relative to the URL of the request.',
      format: 'uri-reference',
      example: '../docs/problems#invalid_json',
    }),
    title: z.string(),
    status: z.int(),
    code: codes.meta({ description: 'A stable code. Base program logic on this field only.' }),
    detail: z.string().meta({ description: 'An explanation for people, whose wording can change.' }),
    param: z.string().optional().meta({ description: 'The invalid field.', example: 'metadata.order' }),
    request_id: z.string(),
    payment_id: z.string().optional().meta({ description: 'The id of the conflicting payment.' }),
    payment_status: z
      .enum(PAYMENT_STATUSES)
      .optional()
      .meta({ description: 'The status that does not allow the change.' }),
    decidable_from: z
      .int()
      .optional()
      .meta({ description: 'The time from which an operator may decide the change, in Unix seconds.' }),
    amount_left: shownAmount('The remaining amount').optional(),
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
    order_id: z.string().optional().meta({ description: 'The id of the conflicting order.' }),
    correction_id: z.string().optional().meta({ description: 'The id of the conflicting correction.' }),
  })
  .meta({ id: 'Problem', description: 'A problem document (RFC 9457).' });
