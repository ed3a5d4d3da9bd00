import * as z from 'zod';
import { type ReadingCall, reading, type TenantEndpoint } from '../../http/endpoint.ts';
import { hasOneCursor, listResponse, ONE_CURSOR, pageOf, pageRequest } from '../../http/lists.ts';
import { amountFilter, emailFilter, hasShortRange, RANGE_MESSAGE } from '../../http/range-filters.ts';
import { freeText } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import { DISPUTE_STATUSES, PAYMENT_STATUSES } from '../../payments/domain/payment.ts';
import { LARGEST_AMOUNT } from '../../payments/http/payment-objects.ts';
import { DISPUTE_ID, PAYMENT_ID } from '../../payments/ids.ts';
import { type ListDisputesTools, listDisputes } from '../use/list-disputes.ts';
import { type ListPaymentsTools, listPayments } from '../use/list-payments.ts';
import { disputeList, LAGS, paymentList } from './list-answers.ts';

/* The API documentation is generated from the query schemas of these routes. */

/** Filters that are also available to operators. */
export const paymentFilters = {
  status: z
    .enum(PAYMENT_STATUSES, `must be one of ${PAYMENT_STATUSES.join(', ')}`)
    .optional()
    .meta({ description: 'Only payments with this status.' }),
  reference: freeText(255, 1)
    .optional()
    .meta({ description: 'Only payments with this `reference`, including failed ones.' }),
};

const paymentsQuery = z
  .strictObject({
    ...paymentFilters,
    charge_id: z
      .string()
      // The id becomes a path segment of a request to the processor. A segment that consists of dots would name a
      // different resource.
      .regex(
        /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$/,
        'must be the id of a charge: 1 to 255 letters, digits, dashes, underscores or dots, without a dot at the start',
      )
      .optional()
      .meta({
        description:
          'Only the payment that this charge belongs to, according to the processor’s books. Charges that were refunded or voided are also found. Cannot be combined with `reference`. Requests with this filter have a separate limit, a tenth of the limit of other reads.',
      }),
    amount: amountFilter(LARGEST_AMOUNT),
    email: emailFilter('payments with this address as `receipt_email` in their `metadata`'),
    ...pageOf('payments', PAYMENT_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR)
  .refine(({ reference, charge_id: charge }) => reference === undefined || charge === undefined, {
    path: ['charge_id'],
    message: 'cannot be combined with reference',
  })
  .refine((asked) => asked.amount === undefined || hasShortRange(asked), { path: ['amount'], message: RANGE_MESSAGE });

const disputesQuery = z
  .strictObject({
    status: z
      .enum(DISPUTE_STATUSES, `must be one of ${DISPUTE_STATUSES.join(', ')}`)
      .optional()
      .meta({ description: 'Only disputes with this status.' }),
    ...pageOf('disputes', DISPUTE_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR);

const getPayments = reading({
  path: '/v1/payments',
  scope: Scopes.paymentsRead,
  role: 'operator',
  asksProcessor: ({ query }) => query.has('charge_id'),
  query: paymentsQuery,
  handle: async ({ tools, caller, request, query }: ReadingCall<ListPaymentsTools, typeof paymentsQuery>) => {
    const { status, reference, charge_id: chargeId, amount: amountMinor, email, ...page } = query;
    const outcome = await listPayments(tools, caller, {
      ...defined({ status, reference, chargeId, amountMinor, email }),
      ...pageRequest(page),
    });
    return listResponse(outcome, 'payments', request);
  },
  docs: {
    operationId: 'listPayments',
    tag: 'Payments',
    summary: 'List payments',
    description: `Newest first. A payment appears once its outcome is known, or once the processor has reported that the outcome takes time. ${LAGS}`,
    answers: { 200: { description: 'A page of payments.', schema: paymentList } },
    problems: ['processor_unavailable'],
  },
});

const getDisputes = reading({
  path: '/v1/disputes',
  scope: Scopes.paymentsRead,
  role: 'viewer',
  query: disputesQuery,
  handle: async ({ tools, caller, request, query }: ReadingCall<ListDisputesTools, typeof disputesQuery>) => {
    const { status, ...page } = query;
    const asked = { ...defined({ status }), ...pageRequest(page) };
    return listResponse(await listDisputes(tools, caller, asked), 'disputes', request);
  },
  docs: {
    operationId: 'listDisputes',
    tag: 'Disputes',
    summary: 'List disputes',
    description: `The disputes of all payments, newest first, each in its current state. ${LAGS}`,
    answers: { 200: { description: 'A page of disputes.', schema: disputeList } },
  },
});

export const PAYMENT_LIST_ROUTES: readonly TenantEndpoint<ListPaymentsTools>[] = [getPayments, getDisputes];
