import { isOrderId } from '../../kernel/ids.ts';
import { type PaymentStatus, paymentObject } from '../../payments/domain/payment.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { readPayment } from '../../payments/use/read-payment.ts';
import { readDetailed, type TransitionReader } from '../../payments/use/transition-reader.ts';
import type { Owner } from '../../tenants/owners.ts';
import { paymentList, paymentPartition, paymentPlace, referencePartition, type ViewOwner } from '../domain/lists.ts';
import type { HeadBody, ViewRow } from '../domain/views.ts';
import { type Listed, type ListPage, listPage } from './list-page.ts';
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

/** An object of another tenant is an `unknown_cursor`, so that the answer reveals nothing about it. */
export type ListOutcome =
  | { readonly kind: 'unknown_cursor'; readonly param: 'starting_after' | 'ending_before' }
  | ({ readonly kind: 'found' } & Listed);

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
    return paymentPlace(Math.floor(found.payment.createdAtMs / 1000), found.payment.id);
  };
  const heads = reference === undefined ? views : { range: headsOfReference(views, caller, status) };
  const list =
    reference === undefined ? paymentList(caller, status) : { partitions: [referencePartition(caller, reference)] };
  return listFrom({ after, before, placed }, async (cursors) => {
    const { rows, hasMore } = await listPage(heads, list, { ...page, ...cursors });
    return { rows: (await Promise.all(rows.map((row) => shown(transitions, row)))).flat(), hasMore };
  });
}

/** @returns nothing when the Ledger has no such transition: a rebuild removes the row */
async function shown(transitions: TransitionReader, row: ViewRow): Promise<readonly ViewRow[]> {
  const { chainId, sequence } = row;
  if (chainId === undefined || isOrderId(chainId)) return [];
  const found = await readDetailed(transitions, { paymentId: chainId, sequence });
  return found === undefined
    ? []
    : [{ ...row, body: JSON.stringify(paymentObject(found.transition.payment, found.first)) }];
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

interface Cursors {
  readonly after: string | undefined;
  readonly before: string | undefined;
  /** Sort key of the caller's object with this id; undefined when the caller has none. */
  readonly placed: (id: string) => Promise<string | undefined>;
}

/** Resolves the ids of the cursors to sort keys, then lists. */
export async function listFrom(
  { after, before, placed }: Cursors,
  list: (cursors: Pick<ListPage, 'after' | 'before'>) => Promise<Listed>,
): Promise<ListOutcome> {
  const behind = after === undefined ? undefined : await placed(after);
  if (after !== undefined && behind === undefined) return { kind: 'unknown_cursor', param: 'starting_after' };
  const ahead = before === undefined ? undefined : await placed(before);
  if (before !== undefined && ahead === undefined) return { kind: 'unknown_cursor', param: 'ending_before' };
  const listed = await list({
    ...(behind === undefined ? {} : { after: behind }),
    ...(ahead === undefined ? {} : { before: ahead }),
  });
  return { kind: 'found', ...listed };
}
