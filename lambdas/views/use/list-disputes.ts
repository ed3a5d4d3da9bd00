import { createdSortKey } from '../../kernel/places.ts';
import { type Dispute, disputeObject } from '../../payments/domain/payment.ts';
import { partId, paymentOfPart } from '../../payments/ids.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { readPayment } from '../../payments/use/read-payment.ts';
import type { Owner } from '../../tenants/owners.ts';
import { disputePartition, idOf } from '../domain/lists.ts';
import type { DisputeHeadBody, ViewRow } from '../domain/views.ts';
import { type ListOutcome, type ListPage, listFrom, shownPage } from './list-page.ts';
import type { ViewStore } from './view-store.ts';

export interface ListDisputesTools {
  readonly views: Pick<ViewStore, 'range'>;
  readonly store: PaymentStore;
}

/** The cursors are dispute ids from the request, not yet validated. */
export interface ListDisputes extends ListPage {
  readonly status?: Dispute['status'];
}

/**
 * Each row's `body` is the API object. A status filter needs no separate list, because there are few disputes, and
 * their rows contain the status.
 *
 * @throws RetryableError when the page cannot be read now
 */
export async function listDisputes(
  { views, store }: ListDisputesTools,
  caller: Owner,
  { status, after, before, ...page }: ListDisputes,
): Promise<ListOutcome> {
  const read = async (id: string): Promise<Readonly<Record<string, unknown>> | undefined> => {
    const found = await readPayment(store, caller, paymentOfPart(id) ?? '');
    if (found.kind === 'not_found') return undefined;
    const { payment } = found;
    const dispute = payment.disputes?.find(({ disputeId }) => partId('dispute', payment.id, disputeId) === id);
    return dispute && disputeObject(dispute, payment);
  };
  const findSortKey = async (id: string): Promise<string | undefined> => {
    const dispute = await read(id);
    return dispute && createdSortKey(Number(dispute['created']), id);
  };
  const matches = (row: ViewRow) => (JSON.parse(row.body) as DisputeHeadBody).status === status;
  const show = async (row: ViewRow): Promise<ViewRow | undefined> => {
    const dispute = await read(idOf(row.sort));
    if (dispute === undefined || (status !== undefined && dispute['status'] !== status)) return undefined;
    return { ...row, body: JSON.stringify(dispute) };
  };
  return listFrom({ after, before, findSortKey }, (cursors) =>
    shownPage(
      views,
      { partitions: [disputePartition(caller)] },
      { ...page, ...cursors },
      {
        ...(status === undefined ? {} : { matches }),
        show,
        findSortKey,
      },
    ),
  );
}
