import * as z from 'zod';
import { ACTIVITY_ID } from '../../activity/domain/activity.ts';
import { pageLimit } from '../../http/lists.ts';
import { freeText } from '../../http/validate.ts';
import { CURRENCIES, largestAmountMinor } from '../../kernel/currency.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import { MAX_SEQUENCE } from '../../payments/http/list-transitions.ts';
import { captureBody, refundBody } from '../../payments/http/payment-schemas.ts';

const MAX_LEGS = 10;
const LARGEST_AMOUNT = Math.max(...CURRENCIES.map((code) => largestAmountMinor(code) ?? 0));

const account = z.enum(ACCOUNTS, `must be one of ${ACCOUNTS.join(', ')}`);

export const TENANT_ID = /^ten_\w{1,100}$/;

export const tenantField = z
  .string('must be the id of a tenant')
  .regex(TENANT_ID, 'must be the id of a tenant')
  .meta({ example: 'ten_k3jx5aqhz4m2nrb7' });
export const modeField = z.enum(['test', 'live'], 'must be test or live');

export const tenantParameter = z.string().regex(TENANT_ID, 'must be the id of a tenant').optional();

const chainFields = {
  tenant: tenantParameter.meta({
    description: 'List the actions that concern this tenant. Default: the actions that concern the deployment.',
  }),
  mode: modeField.optional().meta({ description: 'The mode of the tenant. Default: `live`.' }),
};

export const activityEntryQuery = z.strictObject(chainFields);

export const activityQuery = z.strictObject({
  ...chainFields,
  limit: pageLimit('entries'),
  starting_after: z
    .string()
    .regex(ACTIVITY_ID, 'must be the id of an entry of the activity log')
    .optional()
    .meta({ description: 'The `id` of the last entry of the previous page.' }),
});

const reason = freeText(500, 1);
const leg = z
  .strictObject({
    account: account.meta({ description: 'An account of the chart of accounts.' }),
    direction: z.enum(['debit', 'credit'], 'must be debit or credit'),
    amount: z
      .int('must be a JSON integer, in minor units')
      .min(1, 'must be at least 1')
      .max(LARGEST_AMOUNT, `must be at most ${LARGEST_AMOUNT}`)
      .meta({ description: 'In minor units of the payment’s currency.' }),
  })
  .meta({ id: 'CorrectionLeg' });

const dryRun = z
  .boolean('must be a boolean')
  .optional()
  .meta({
    description:
      'Returns the postings that the request would make, and the payment’s balances before and after. Nothing is written, and ' +
      '`Idempotency-Key` is neither needed nor used up.',
  });

/** If several fields are invalid, the first one in this order is reported. */
export const correctionBody = z
  .strictObject({
    payment: freeText(100, 1).meta({
      description: 'The payment whose postings are corrected.',
      example: 'pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp',
    }),
    reason: reason.meta({
      description: 'The reason. Permanent, unless the payment’s personal data is erased.',
      example: 'Booked twice by hand',
    }),
    reverses: z
      .int('must be the sequence of a transition')
      .min(1, 'must be at least 1')
      .max(MAX_SEQUENCE, `must be at most ${MAX_SEQUENCE}`)
      .optional()
      .meta({
        description: 'The sequence of the transition whose postings are reversed. Cannot be combined with `postings`.',
      }),
    postings: z
      .array(leg, 'must be an array of postings')
      .min(2, 'must have at least 2 postings')
      .max(MAX_LEGS, `must have at most ${MAX_LEGS} postings`)
      .optional()
      .meta({ description: 'New postings, whose debits equal their credits. Cannot be combined with `reverses`.' }),
    dry_run: dryRun,
  })
  .superRefine(({ reverses, postings }, context) => {
    if ((reverses === undefined) !== (postings === undefined)) return;
    const issue =
      reverses === undefined
        ? { path: ['reverses'], message: 'is required unless postings is given' }
        : { path: ['postings'], message: 'cannot be combined with reverses' };
    context.addIssue({ code: 'custom', ...issue });
  })
  .meta({ id: 'CreateCorrection', oneOf: [{ required: ['reverses'] }, { required: ['postings'] }] });

export const annotationBody = z
  .strictObject({
    reason: reason.meta({
      description:
        'The error in the record, or its explanation. Permanent, unless the payment’s personal data is erased.',
      example: 'Charged for the wrong order; see ticket 4711',
    }),
    annotates: z
      .int('must be the sequence of a transition')
      .min(1, 'must be at least 1')
      .max(MAX_SEQUENCE, `must be at most ${MAX_SEQUENCE}`)
      .optional()
      .meta({ description: 'The sequence of the transition to annotate. Default: annotate the payment as a whole.' }),
    missing_charge: freeText(100, 1).optional().meta({
      description:
        'The id of a charge of this payment that does not exist at the processor. Payonce then stops looking the charge up, unless the processor shows the charge, or a refund or dispute of it is open.',
    }),
  })
  .meta({ id: 'AnnotatePayment' });

export const decisionBody = z
  .strictObject({
    outcome: z
      .enum(['succeeded', 'failed'], 'must be succeeded or failed')
      .meta({ description: 'The outcome that the operator determined.' }),
    change: z
      .string('must be a string')
      .regex(/^(?:ref|rtn|cap|can)_[a-z2-7]{58}$/, 'must be the id of a refund, a capture or a cancellation')
      .optional()
      .meta({
        description:
          'The refund (`ref_…`, or `rtn_…` for a stray charge), capture (`cap_…`) or cancellation (`can_…`) to decide. ' +
          'Default: decide the payment itself.',
      }),
    charge_id: z
      .string('must be a string')
      .regex(/^[\x21-\x7e]{1,255}$/, 'must be the id of a charge at the processor')
      .optional()
      .meta({
        description:
          'The id of the charge. Its metadata or the Ledger must name the payment. Only with `succeeded`; required if the payment has no charge id.',
      }),
    amount: z
      .int('must be a JSON integer, in minor units')
      .min(1, 'must be at least 1')
      .max(LARGEST_AMOUNT, `must be at most ${LARGEST_AMOUNT}`)
      .optional()
      .meta({
        description:
          'The captured amount to post, in minor units of the payment’s currency. The processor’s books must show this amount. Only with `succeeded`; required when the payment’s `failure.code` is `wrong_amount`. Default: the requested amount.',
        example: 600,
      }),
    reason: reason.meta({
      description: 'The reason. Permanent, unless the payment’s personal data is erased.',
      example: 'Seen on the bank statement of 3 March',
    }),
    override: z
      .boolean('must be a boolean')
      .optional()
      .meta({
        description:
          'Decides without the processor’s books. Allowed only while the books cannot be read, which is always so for a processor without a look-up. ' +
          'The override is recorded with the decision.',
      }),
    dry_run: dryRun,
  })
  .superRefine(({ outcome, change, ...given }, context) => {
    if (outcome === 'succeeded' && change === undefined) return;
    const message = 'is allowed only with outcome succeeded, and not together with change';
    for (const name of ['charge_id', 'amount'] as const)
      if (given[name] !== undefined) context.addIssue({ code: 'custom', path: [name], message });
  })
  .meta({
    id: 'ResolvePayment',
    not: {
      allOf: [
        { anyOf: [{ required: ['charge_id'] }, { required: ['amount'] }] },
        { anyOf: [{ required: ['change'] }, { properties: { outcome: { const: 'failed' } } }] },
      ],
    },
  });

const requestReason = reason.meta({
  description: 'The reason. Permanent, unless the payment’s personal data is erased.',
  example: 'Asked by phone',
});

export const operatorRefundBody = z
  .strictObject({
    amount: refundBody.shape.amount,
    reason: requestReason.meta({
      description: 'The reason, shown with the refund. Permanent, unless the payment’s personal data is erased.',
    }),
  })
  .meta({ id: 'OperatorRefund' });

export const operatorCaptureBody = z
  .strictObject({ amount: captureBody.shape.amount, reason: requestReason })
  .meta({ id: 'OperatorCapture' });

export const operatorCancelBody = z.strictObject({ reason: requestReason }).meta({ id: 'OperatorCancel' });
