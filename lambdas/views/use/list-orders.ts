import { EmailRow } from '../../kernel/contract/rows.ts';
import { type EmailHashes, emailPartitions } from '../../kernel/email-hashes.ts';
import { createdSortKey } from '../../kernel/places.ts';
import type { OrderStatus } from '../../orders/domain/order.ts';
import { orderObject } from '../../orders/domain/order-answer.ts';
import { readOrder } from '../../orders/use/order-chain.ts';
import type { OrderStore } from '../../orders/use/order-store.ts';
import { type ChainId, isOrderId } from '../../payments/ids.ts';
import type { Owner } from '../../tenants/owners.ts';
import { orderList } from '../domain/lists.ts';
import type { ViewRow } from '../domain/views.ts';
import { type ListOutcome, type ListPage, listFrom, shownPage } from './list-page.ts';
import type { ViewStore } from './view-store.ts';

export interface ListOrdersTools {
  readonly views: Pick<ViewStore, 'range'>;
  readonly orders: Pick<OrderStore, 'listOrderTransitions'>;
  readonly emailHashes: EmailHashes;
  /** Lists orders by the hashes of their e-mail addresses. */
  readonly emailIndex: Pick<ViewStore, 'range'>;
}

/** The cursors are order ids from the request, not yet validated. */
export interface ListOrders extends ListPage {
  readonly status?: OrderStatus;
  /** Case-insensitive. */
  readonly email?: string;
}

/**
 * Each order is read in its current state, because most changes to an order cause no event. Each row's `body` is the
 * API object. With a status filter, orders that no longer have this status are omitted.
 *
 * @throws RetryableError when the page cannot be read now
 */
export async function listOrders(
  { views, orders, emailHashes, emailIndex }: ListOrdersTools,
  caller: Owner,
  { status, email, after, before, ...page }: ListOrders,
): Promise<ListOutcome> {
  const findSortKey = async (id: string): Promise<string | undefined> => {
    const found = await readOrder(orders, caller, id);
    return found && createdSortKey(Math.floor(found.order.createdAtMs / 1000), found.order.id);
  };
  const shown = async (id: ChainId | undefined): Promise<string | undefined> => {
    const found = id !== undefined && isOrderId(id) ? await readOrder(orders, caller, id) : undefined;
    if (found === undefined || (status !== undefined && found.order.status !== status)) return undefined;
    if (email !== undefined && found.details.email?.toLowerCase() !== email.toLowerCase()) return undefined;
    return JSON.stringify(orderObject(found.order, found.details));
  };
  const show = async (row: ViewRow): Promise<ViewRow | undefined> => {
    const body = await shown(row.chainId);
    return body === undefined ? undefined : { ...row, body };
  };
  return listFrom({ after, before, findSortKey }, async (cursors) => {
    if (email === undefined)
      return shownPage(views, orderList(caller, status), { ...page, ...cursors }, { show, findSortKey });
    const list = { partitions: emailPartitions(EmailRow.order, await emailHashes.of(caller, email)) };
    const matches = status === undefined ? {} : { matches: () => undefined };
    return shownPage(emailIndex, list, { ...page, ...cursors }, { ...matches, show, findSortKey });
  });
}
