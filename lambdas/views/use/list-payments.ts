import { isOrderId } from '../../kernel/ids.ts';
import { type PaymentStatus, paymentObject } from '../../payments/domain/payment.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { readPayment } from '../../payments/use/read-payment.ts';
import { readDetailed, type TransitionReader } from '../../payments/use/transition-reader.ts';
import type { Owner } from '../../tenants/owners.ts';
import { createdPlace, paymentList, paymentPartition, referencePartition, type ViewOwner } from '../domain/lists.ts';
import type { HeadBody, ViewRow } from '../domain/views.ts';
import { type ListOutcome, type ListPage, listFrom, shownPage } from './list-page.ts';
import type { ViewStore } from './view-store.ts';

export interface ListPaymentsTools {
  readonly views: Pick<ViewStore, 'range' | 'read'>;
  readonly store: PaymentStore;
  readonly transitions: TransitionReader;
}

/** The cursors are payment ids from the request, not validated. */
export interface ListPayments extends ListPage {
  readonly status?: PaymentStatus;
  readonly reference?: string;
}

/**
 * A page of the caller's payments, newest first, each as it was after the newest event that was projected. The `body` of a row
 * is the API's object.
 *
 * @throws RetryableError when it cannot be read now
 */
export async function listPayments(
  { views, store, transitions }: ListPaymentsTools,
  caller: Owner,
  { status, reference, after, before, ...page }: ListPayments,
): Promise<ListOutcome> {
  const placed = async (id: string): Promise<string | undefined> => {
    const found = await readPayment(store, caller, id);
    if (found.kind === 'not_found') return undefined;
    // Whole seconds, because heads are sorted by the payment's `created`.
    return createdPlace(Math.floor(found.payment.createdAtMs / 1000), found.payment.id);
  };
  const heads = reference === undefined ? views : { range: headsOfReference(views, caller, status) };
  const list =
    reference === undefined ? paymentList(caller, status) : { partitions: [referencePartition(caller, reference)] };
  const show = (row: ViewRow) => shown(transitions, row);
  return listFrom({ after, before, placed }, (cursors) => shownPage(heads, list, { ...page, ...cursors }, { show }));
}

/** @returns undefined when the Ledger has no such transition: a rebuild removes the row */
async function shown(transitions: TransitionReader, row: ViewRow): Promise<ViewRow | undefined> {
  const { chainId, sequence } = row;
  if (chainId === undefined || isOrderId(chainId)) return undefined;
  const found = await readDetailed(transitions, { paymentId: chainId, sequence });
  return found && { ...row, body: JSON.stringify(paymentObject(found.transition.payment, found.first)) };
}

/** Reads the payments of a reference, of which there are few, and keeps those with the status. */
function headsOfReference(
  views: ListPaymentsTools['views'],
  owner: ViewOwner,
  status: PaymentStatus | undefined,
): ViewStore['range'] {
  return async (range) => {
    const heads: ViewRow[] = [];
    let { from, until } = range;
    while (heads.length < range.limit) {
      const rows = await views.range({ ...range, from, until });
      const found = await Promise.all(
        rows.map(async ({ chainId, sort }) =>
          chainId === undefined || isOrderId(chainId)
            ? undefined
            : views.read({ partition: paymentPartition(owner, chainId), sort }),
        ),
      );
      heads.push(...found.filter((head) => head !== undefined).filter((head) => hasStatus(head, status)));
      const last = rows.at(-1)?.sort;
      if (last === undefined || rows.length < range.limit) break;
      if (range.descending === true) until = last;
      // A trailing space gives the next possible sort key.
      else from = `${last} `;
    }
    return heads.slice(0, range.limit);
  };
}

function hasStatus({ body }: ViewRow, status: PaymentStatus | undefined): boolean {
  return status === undefined || (JSON.parse(body) as HeadBody).status === status;
}
