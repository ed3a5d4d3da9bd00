import * as z from 'zod';
import { PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { pageLimit } from '../../http/lists.ts';
import { currencyFilter, day } from '../../http/range-filters.ts';
import { DISPUTE_STATUSES, PAYMENT_STATUSES } from '../../payments/domain/payment.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import { LARGEST_AMOUNT } from '../../payments/http/payment-objects.ts';
import { DAY_MS } from '../../views/domain/views.ts';
import { EXPORT_KINDS, type ExportKind } from '../domain/data-export.ts';
import { EXPORT_ID } from '../ids.ts';

const MAX_DAYS = 366;

const REFUND_STATUSES = ['succeeded', 'failed'] as const;
const STATUSES: Readonly<Partial<Record<ExportKind, readonly string[]>>> = {
  payments: PAYMENT_STATUSES,
  refunds: REFUND_STATUSES,
  disputes: DISPUTE_STATUSES,
};
const ANY_STATUS = [...new Set([...PAYMENT_STATUSES, ...REFUND_STATUSES, ...DISPUTE_STATUSES])] as const;
const amountOf = (bound: string) =>
  z
    .int('must be a whole number')
    .min(1, 'must be at least 1')
    .max(LARGEST_AMOUNT, `must be at most ${LARGEST_AMOUNT}`)
    .optional()
    .meta({
      description: `For \`payments\`: only those with this amount or ${bound}, in minor units of any currency.`,
    });

export const exportBody = z
  .strictObject({
    kind: z
      .enum(EXPORT_KINDS, `must be one of ${EXPORT_KINDS.join(', ')}`)
      .meta({ description: 'The kind of the rows.' }),
    from: day('The first day, in UTC.'),
    to: day(`The last day, in UTC. The range can include at most ${MAX_DAYS} days.`),
    currency: currencyFilter.optional().meta({ description: 'Only rows in this currency.' }),
    account: z
      .enum(ACCOUNTS, `must be one of ${ACCOUNTS.join(', ')}`)
      .optional()
      .meta({ description: 'For `entries`: only those on this account.' }),
    status: z
      .enum(ANY_STATUS, `must be one of ${ANY_STATUS.join(', ')}`)
      .optional()
      .meta({
        description:
          'For `payments`, `refunds` and `disputes`: only those with this status, which must be a status of that kind.',
      }),
    type: z
      .enum(PUBLIC_EVENT_TYPES, `must be one of ${PUBLIC_EVENT_TYPES.join(', ')}`)
      .optional()
      .meta({ description: 'For `events`: only those of this type.' }),
    amount_from: amountOf('more'),
    amount_to: amountOf('less'),
  })
  .superRefine((asked, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    const { kind, from, to, account, status, type, amount_from: least, amount_to: most } = asked;
    const days = (to.untilMs - from.fromMs) / DAY_MS;
    if (days < 1) refuse('to', 'must not be before from');
    if (days > MAX_DAYS) refuse('to', `must be at most ${MAX_DAYS - 1} days after from`);
    if (account !== undefined && kind !== 'entries') refuse('account', 'applies to entries only');
    if (type !== undefined && kind !== 'events') refuse('type', 'applies to events only');
    if (least !== undefined && kind !== 'payments') refuse('amount_from', 'applies to payments only');
    if (most !== undefined && kind !== 'payments') refuse('amount_to', 'applies to payments only');
    if (least !== undefined && most !== undefined && most < least) refuse('amount_to', 'must be at least amount_from');
    const known = STATUSES[kind] ?? [];
    if (status !== undefined && !known.includes(status))
      refuse('status', known.length === 0 ? `does not apply to ${kind}` : `must be one of ${known.join(', ')}`);
  })
  .meta({ id: 'CreateExport' });

export const exportsQuery = z.strictObject({
  limit: pageLimit('exports'),
  starting_after: z
    .string()
    .regex(EXPORT_ID, 'must be the id of one of your exports')
    .optional()
    .meta({ description: 'The `id` of the last export of the previous page.' }),
});
