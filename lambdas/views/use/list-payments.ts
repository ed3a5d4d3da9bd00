import type { PaymentStatus } from '../../payments/domain/payment.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { readPayment } from '../../payments/use/read-payment.ts';
import type { Owner } from '../../tenants/owners.ts';
import { paymentPartitions, placeOf } from '../domain/views.ts';
import { type Listed, type ListPage, listPage } from './list-page.ts';
import type { ViewStore } from './view-store.ts';

export interface ListPaymentsTools {
  readonly views: Pick<ViewStore, 'range'>;
  readonly store: PaymentStore;
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

/** A page of the caller's payments, newest first. @throws RetryableError when it cannot be read now */
export async function listPayments(
  { views, store }: ListPaymentsTools,
  caller: Owner,
  { status, reference, after, before, ...page }: ListPayments,
): Promise<ListOutcome> {
  const placed = async (id: string): Promise<string | undefined> => {
    const found = await readPayment(store, caller, id);
    if (found.kind === 'not_found') return undefined;
    // Whole seconds, because heads are sorted by the payment's `created`.
    return placeOf(Math.floor(found.payment.createdAtMs / 1000) * 1000, found.payment.id);
  };
  const partitions = paymentPartitions(caller, {
    ...(status === undefined ? {} : { status }),
    ...(reference === undefined ? {} : { reference }),
  });
  return listFrom({ after, before, placed }, (cursors) => listPage(views, partitions, { ...page, ...cursors }));
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
