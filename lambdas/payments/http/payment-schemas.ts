import * as z from 'zod';
import { freeText } from '../../http/validate.ts';
import { amount } from './payment-objects.ts';

/** The API documents are generated from these schemas. */

const partOf = (whole: string) =>
  amount.optional().meta({ description: `In minor units. Defaults to ${whole}.`, example: 300 });

export const captureBody = z.strictObject({ amount: partOf('the authorized amount') }).meta({ id: 'CapturePayment' });

export const cancelBody = z.strictObject({}).meta({ id: 'CancelPayment' });

export const refundBody = z
  .strictObject({
    amount: partOf('the remaining amount'),
    reason: freeText(200, 1).optional().meta({ description: 'Free text, stored unchanged.', example: 'Returned' }),
  })
  .meta({ id: 'RefundPayment' });
