import * as z from 'zod';
import { type Handled, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { ROLE_NEEDED } from '../../http/for-tenant.ts';
import { hasOneCursor, listResponse, ONE_CURSOR, pageOf, pageRequest } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { emailFilter, hasShortRange, RANGE_MESSAGE } from '../../http/range-filters.ts';
import { freeText, wholeNumber } from '../../http/validate.ts';
import { includesRole } from '../../kernel/contract/api.ts';
import { CURRENCIES } from '../../kernel/currency.ts';
import { defined } from '../../kernel/defined.ts';
import { type TenantId, tenantId } from '../../kernel/ids.ts';
import { LARGEST_AMOUNT } from '../../payments/http/payment-objects.ts';
import { PAYMENT_ID } from '../../payments/ids.ts';
import type { Operator } from '../../tenants/operators.ts';
import { LAGS } from '../../views/http/list-answers.ts';
import { paymentFilters } from '../../views/http/payment-lists.ts';
import type { ListOutcome } from '../../views/use/list-page.ts';
import { listPayments } from '../../views/use/list-payments.ts';
import { listReviewedPayments, withTenant } from '../../views/use/list-reviews.ts';
import { type FindPaymentsTools, findPayments, isEmail, isPrefixedId } from '../use/find-payments.ts';
import { foundPaymentList } from './attention-answers.ts';
import { TENANT_ID } from './ledger-schemas.ts';

const TENANT_MESSAGE = 'must be the id of a tenant';
const NEEDS_RANGE = 'The filter needs `created_from` and `created_to`, at most 31 days after `created_from`.';
const { created_from: from, created_to: to, ...page } = pageOf('payments', PAYMENT_ID);

/** Filters that cannot be combined with `q`. */
const FILTERS = [
  'status',
  'reference',
  'amount_from',
  'amount_to',
  'currency',
  'email',
  'created_from',
  'created_to',
] as const;

/** Only a search for an id, or for all payments in review without other filters, may omit the tenant. */
function isOfAllTenants({
  q,
  status,
  ...asked
}: Partial<Record<(typeof FILTERS)[number] | 'q', string | number | undefined>>): boolean {
  if (q !== undefined) return isPrefixedId(String(q));
  return status === 'needs_review' && FILTERS.every((field) => field === 'status' || asked[field] === undefined);
}

const searchQuery = z
  .strictObject({
    tenant: z.string(TENANT_MESSAGE).regex(TENANT_ID, TENANT_MESSAGE).optional().meta({
      description:
        'List the payments of this tenant. Required except with `status=needs_review`, which lists the payments in review of all tenants, or with an id in `q`.',
      example: 'ten_desk',
    }),
    mode: z
      .enum(['test', 'live'], 'must be test or live')
      .optional()
      .meta({ description: 'Default: `live` if `tenant` is given and `q` is not an id; otherwise both modes.' }),
    q: freeText(255, 1)
      .optional()
      .meta({
        description:
          'The id of a payment, refund, capture, cancellation, dispute or order; the `receipt_email` of a payment or the e-mail address of an order (not available to viewers); an idempotency key; ' +
          'a `reference` or a part of it; or the id of a charge. The text is tried as each of these in this order; the first that matches is used. ' +
          'Cannot be combined with filters other than `tenant`, `mode` and paging. A page searches 1,000 payments for a part of a reference. ' +
          'A charge is looked up at the processor.',
        example: 'order-4711',
      }),
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
    email: emailFilter('payments with this address as `receipt_email` in their `metadata` (not available to viewers)'),
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
    const [other] = asked.q === undefined ? [] : FILTERS.filter((field) => asked[field] !== undefined);
    if (other !== undefined) refuse(other, 'cannot be combined with q');
    if (asked.tenant === undefined && !isOfAllTenants(asked)) refuse('tenant', TENANT_MESSAGE);
    if (least > most) refuse('amount_to', 'must be at least amount_from');
    if (begin !== undefined && end !== undefined && begin > end)
      refuse('created_to', 'must not be before created_from');
  });

export const searchPayments = reading({
  path: '/v1/admin/payments',
  role: 'viewer',
  query: searchQuery,
  handle: search,
  docs: {
    operationId: 'searchPayments',
    tag: 'Operators',
    summary: 'Search payments',
    description: `Newest first. Each page examines at most 1,000 payments, so it may hold fewer than \`limit\`; continue with \`next_cursor\`. For viewers, \`description\` and \`metadata\` are empty. ${LAGS}`,
    answers: { 200: { description: 'A page of payments.', schema: foundPaymentList } },
    problems: ['processor_unavailable'],
  },
});

async function search(call: ReadingCall<FindPaymentsTools, typeof searchQuery, Operator>): Promise<Handled> {
  const { request, caller, query } = call;
  const isTrusted = includesRole(caller.role, 'operator');
  const { email = query.q } = query;
  // Even an empty list would reveal whether a person has paid.
  if (email !== undefined && isEmail(email) && !isTrusted)
    return refusal(problem('insufficient_role', ROLE_NEEDED), request);
  const outcome = await found(call);
  if (isTrusted || outcome.kind !== 'found') return listResponse(outcome, 'payments', request);
  const rows = outcome.rows.map(({ body }) => ({ body: withoutNotes(body) }));
  return listResponse({ ...outcome, rows }, 'payments', request);
}

async function found({ tools, query }: ReadingCall<FindPaymentsTools, typeof searchQuery, Operator>) {
  const { tenant, mode, q: text, status, reference, email, currency, ...asked } = query;
  const { amount_from: amountFromMinor, amount_to: amountToMinor, ...range } = asked;
  const id = tenant === undefined ? undefined : tenantId(tenant);
  const of = defined({ tenantId: id, mode });
  const asPage = pageRequest(range);
  if (text !== undefined) return ofTenant(await findPayments(tools, { text, ...of, ...asPage }), id);
  if (id === undefined) return listReviewedPayments(tools.search, of, asPage);
  const outcome = await listPayments(
    { ...tools.search, books: [] },
    { tenantId: id, mode: mode ?? 'live' },
    {
      // This function has no access to the status index, so the rows are filtered after they are read.
      byIndex: false,
      ...defined({ status, reference, email, currency, amountFromMinor, amountToMinor }),
      ...asPage,
    },
  );
  return ofTenant(outcome, id);
}

function ofTenant(outcome: ListOutcome, id: TenantId | undefined): ListOutcome {
  if (outcome.kind !== 'found' || id === undefined) return outcome;
  return { ...outcome, rows: outcome.rows.map((row) => ({ ...row, body: withTenant(row.body, id) })) };
}

/** The merchant's texts can name persons. */
function withoutNotes(body: string): string {
  const payment = JSON.parse(body) as Record<string, unknown>;
  return JSON.stringify({ ...payment, description: null, metadata: {} });
}
