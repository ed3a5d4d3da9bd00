import * as z from 'zod';
import { type Handled, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { ROLE_NEEDED } from '../../http/for-tenant.ts';
import { hasOneCursor, listHandled, ONE_CURSOR, pageOf, pageRequest } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { emailFilter, hasShortRange, RANGE_MESSAGE } from '../../http/range-filters.ts';
import { wholeNumber } from '../../http/validate.ts';
import { includesRole } from '../../kernel/contract/api.ts';
import { CURRENCIES } from '../../kernel/currency.ts';
import { defined } from '../../kernel/defined.ts';
import { tenantId } from '../../kernel/ids.ts';
import { LARGEST_AMOUNT } from '../../payments/http/payment-objects.ts';
import { PAYMENT_ID } from '../../payments/ids.ts';
import type { Operator } from '../../tenants/operators.ts';
import { LAGS, paymentList } from '../../views/http/list-answers.ts';
import { paymentFilters } from '../../views/http/payment-lists.ts';
import { type ListPaymentsTools, listPayments } from '../../views/use/list-payments.ts';
import { TENANT_ID } from './ledger-schemas.ts';

interface SearchTools {
  /** Excludes `books`: this API does not call processors, so it cannot look up a charge. */
  readonly search: Omit<ListPaymentsTools, 'books'>;
}

const NEEDS_RANGE = 'It needs `created_from` and `created_to`, at most 31 days after `created_from`.';
const { created_from: from, created_to: to, ...page } = pageOf('payments', PAYMENT_ID);

const searchQuery = z
  .strictObject({
    tenant: z
      .string('must be the id of a tenant')
      .regex(TENANT_ID, 'must be the id of a tenant')
      .meta({ description: 'Whose payments.', example: 'ten_desk' }),
    mode: z.enum(['test', 'live'], 'must be test or live').optional().meta({ description: 'Default: `live`.' }),
    ...paymentFilters,
    amount_from: wholeNumber(1, LARGEST_AMOUNT, `At least this amount, in minor units. ${NEEDS_RANGE}`),
    amount_to: wholeNumber(
      1,
      LARGEST_AMOUNT,
      `At most this amount, in minor units, and at least \`amount_from\`. ${NEEDS_RANGE}`,
    ),
    currency: z
      .enum(CURRENCIES, 'must be the code of a currency, for example EUR')
      .optional()
      .meta({ description: `Only payments in this currency. ${NEEDS_RANGE}`, example: 'EUR' }),
    email: emailFilter('payments with this address as `receipt_email` in their `metadata`. Not for viewers'),
    created_from: from,
    created_to: to,
    ...page,
  })
  .refine(hasOneCursor, ONE_CURSOR)
  .superRefine((asked, context) => {
    const refuse = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    const { amount_from: least = 0, amount_to: most = LARGEST_AMOUNT, created_from: begin, created_to: end } = asked;
    for (const field of ['amount_from', 'amount_to', 'currency'] as const) {
      if (asked[field] !== undefined && !hasShortRange(asked)) refuse(field, RANGE_MESSAGE);
    }
    if (least > most) refuse('amount_to', 'must be at least amount_from');
    if (begin !== undefined && end !== undefined && begin > end)
      refuse('created_to', 'must not be before created_from');
  });

/** Searches the payments of a tenant, for operators. */
export const searchPayments = reading({
  path: '/v1/admin/payments',
  role: 'viewer',
  query: searchQuery,
  handle: search,
  docs: {
    operationId: 'searchPayments',
    tag: 'Operators',
    summary: 'Search the payments of a tenant',
    description: `Newest first. A page examines at most 1,000 payments; it can then be short, and \`next_cursor\` continues. Viewers get \`description\` and \`metadata\` empty. ${LAGS}`,
    answers: { 200: { description: 'A page of payments.', schema: paymentList } },
  },
});

async function search(call: ReadingCall<SearchTools, typeof searchQuery, Operator>): Promise<Handled> {
  const { tools, request, caller } = call;
  const { tenant, mode = 'live', status, reference, email, currency, ...asked } = call.query;
  const { amount_from: amountFromMinor, amount_to: amountToMinor, ...range } = asked;
  const isTrusted = includesRole(caller.role, 'operator');
  // Even an empty list would reveal whether a person has paid.
  if (email !== undefined && !isTrusted) return refusal(problem('insufficient_role', ROLE_NEEDED), request);
  const owner = { tenantId: tenantId(tenant), mode };
  const outcome = await listPayments({ ...tools.search, books: [] }, owner, {
    // This function has no access to the status index, because its policy has no space left for it. The rows contain
    // the status, too, so filter the rows after they are read.
    byIndex: false,
    ...defined({ status, reference, email, currency, amountFromMinor, amountToMinor }),
    ...pageRequest(range),
  });
  if (isTrusted || outcome.kind !== 'found') return listHandled(outcome, 'payments', request);
  const rows = outcome.rows.map(({ body }) => ({ body: withoutNotes(body) }));
  return listHandled({ ...outcome, rows }, 'payments', request);
}

/** Removes the merchant's texts, which can name persons. */
function withoutNotes(body: string): string {
  const payment = JSON.parse(body) as Record<string, unknown>;
  return JSON.stringify({ ...payment, description: null, metadata: {} });
}
