import type { TenantId } from '../../kernel/ids.ts';
import { createdSortKey } from '../../kernel/places.ts';
import { type ChainId, isOrderId, parsePaymentId } from '../../payments/ids.ts';
import { FIRST_SORT_KEY, LAST_SORT_KEY, paymentPartition, REVIEWS, type ViewOwner } from '../domain/lists.ts';
import { isInReview, type ReviewBody, type ViewRow } from '../domain/views.ts';
import { type ListOutcome, type ListPage, listFrom, shownPage } from './list-page.ts';
import { type ListPaymentsTools, shownPayment } from './list-payments.ts';
import type { ViewStore } from './view-store.ts';

interface Review extends ReviewBody {
  readonly chainId: ChainId;
}

/** Reads all owners' payments and orders in review, oldest first. */
export async function someReviews(views: Pick<ViewStore, 'range'>, limit: number): Promise<readonly Review[]> {
  const rows = await views.range({ partition: REVIEWS, from: FIRST_SORT_KEY, until: LAST_SORT_KEY, limit });
  return rows.flatMap((row) => reviewOf(row) ?? []);
}

export function withTenant(body: string, tenant: TenantId): string {
  return JSON.stringify({ ...(JSON.parse(body) as object), tenant });
}

function reviewOf({ chainId, body }: ViewRow): Review | undefined {
  return chainId === undefined ? undefined : { chainId, ...(JSON.parse(body) as ReviewBody) };
}

/**
 * Each row's `body` is the API object.
 *
 * @param only the tenant and mode whose payments are listed; an absent field includes all tenants, or both modes
 * @throws RetryableError when the page cannot be read now
 */
export async function listReviewedPayments(
  { views, store, transitions }: Pick<ListPaymentsTools, 'views' | 'store' | 'transitions'>,
  only: Partial<ViewOwner>,
  { after, before, ...page }: ListPage,
): Promise<ListOutcome> {
  const findSortKey = async (id: string): Promise<string | undefined> => {
    const paymentId = parsePaymentId(id);
    const found = paymentId === undefined ? undefined : await store.readPayment(paymentId);
    return found && createdSortKey(Math.floor(found.newest.payment.createdAtMs / 1000), id);
  };
  const isListed = (row: ViewRow): boolean | undefined => {
    const { tenantId, mode } = JSON.parse(row.body) as ReviewBody;
    if (row.chainId === undefined || isOrderId(row.chainId)) return false;
    return (only.tenantId ?? tenantId) === tenantId && (only.mode ?? mode) === mode ? undefined : false;
  };
  const show = async (row: ViewRow): Promise<ViewRow | undefined> => {
    const review = reviewOf(row);
    if (review === undefined || isOrderId(review.chainId)) return undefined;
    const head = await views.read({ partition: paymentPartition(review, review.chainId), sort: row.sort });
    const found = head === undefined || !isInReview(head) ? undefined : await shownPayment(transitions, head);
    return found && { ...found, body: withTenant(found.body, review.tenantId) };
  };
  return listFrom({ after, before, findSortKey }, (cursors) =>
    shownPage(views, { partitions: [REVIEWS] }, { ...page, ...cursors }, { matches: isListed, show, findSortKey }),
  );
}
