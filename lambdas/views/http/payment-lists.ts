import * as z from 'zod';
import { type Route, refusal } from '../../http/authenticated-api.ts';
import { askedPage, hasOneCursor, listHandled, ONE_CURSOR, pageOf } from '../../http/lists.ts';
import { freeText, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { DISPUTE_ID, PAYMENT_ID } from '../../kernel/ids.ts';
import { DISPUTE_STATUSES, PAYMENT_STATUSES } from '../../payments/domain/payment.ts';
import { type ListDisputesTools, listDisputes } from '../use/list-disputes.ts';
import { type ListPaymentsTools, listPayments } from '../use/list-payments.ts';

/** The lists of payments and disputes. The API documents are generated from their query schemas. */

export const paymentsQuery = z
  .strictObject({
    status: z
      .enum(PAYMENT_STATUSES, `must be one of ${PAYMENT_STATUSES.join(', ')}`)
      .optional()
      .meta({ description: 'Only payments with this status.' }),
    reference: freeText(255, 1)
      .optional()
      .meta({ description: 'Only payments with this `reference`, including failed ones.' }),
    ...pageOf('payments', PAYMENT_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR);

export const disputesQuery = z
  .strictObject({
    status: z
      .enum(DISPUTE_STATUSES, `must be one of ${DISPUTE_STATUSES.join(', ')}`)
      .optional()
      .meta({ description: 'Only disputes with this status.' }),
    ...pageOf('disputes', DISPUTE_ID),
  })
  .refine(hasOneCursor, ONE_CURSOR);

const getPayments: Route<ListPaymentsTools> = {
  method: 'GET',
  path: '/v1/payments',
  scope: Scopes.paymentsRead,
  handle: async ({ tools, caller, request }) => {
    const query = validateQuery(paymentsQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { status, reference, ...page } = query.value;
    const outcome = await listPayments(tools, caller, {
      ...(status === undefined ? {} : { status }),
      ...(reference === undefined ? {} : { reference }),
      ...askedPage(page),
    });
    return listHandled(outcome, 'payments', request);
  },
};

const getDisputes: Route<ListDisputesTools> = {
  method: 'GET',
  path: '/v1/disputes',
  scope: Scopes.paymentsRead,
  handle: async ({ tools, caller, request }) => {
    const query = validateQuery(disputesQuery, request.query);
    if (query.kind === 'refused') return refusal(query.problem, request);
    const { status, ...page } = query.value;
    const asked = { ...(status === undefined ? {} : { status }), ...askedPage(page) };
    return listHandled(await listDisputes(tools, caller, asked), 'disputes', request);
  },
};

/** The lists of the payments API. They only read. */
export const PAYMENT_LIST_ROUTES: readonly Route<ListPaymentsTools>[] = [getPayments, getDisputes];
