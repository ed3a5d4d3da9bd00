import { eventOf, orderEventOf, type PayonceEvent } from '../../events/domain/event.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { OrderId, PaymentId } from '../../kernel/ids.ts';
import { rounds } from '../../once/use/rounds.ts';
import { isOrderOutcome } from '../../orders/domain/order.ts';
import { LONGEST_ORDER_CHAIN, orderChainOf } from '../../orders/use/order-chain.ts';
import type { OrderStore } from '../../orders/use/order-store.ts';
import { isOutcome } from '../../payments/domain/payment.ts';
import { type ChainId, isOrderId } from '../../payments/ids.ts';
import { readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import type { ViewKey, ViewOwner } from '../domain/lists.ts';
import { type EventViews, type ViewRow, viewsOf } from '../domain/views.ts';
import type { RowChange, ViewStore } from './view-store.ts';

export interface LedgerTools {
  readonly store: Pick<PaymentStore, 'listTransitions'>;
  readonly orders: Pick<OrderStore, 'listOrderTransitions'>;
  readonly digest: Digest;
}

/** All rows that are derived from the chain of one payment or order in the Ledger. */
export interface ChainViews {
  readonly owner: ViewOwner;
  /** Rows of each event, newest event first, so that a rebuild writes the row with the current state only once. */
  readonly events: readonly EventViews[];
}

/** Reads one payment or order from the Ledger with strong consistency, and derives its rows. */
export async function readChainViews(tools: LedgerTools, id: ChainId): Promise<ChainViews | undefined> {
  const events = isOrderId(id) ? await orderEvents(tools, id) : await paymentEvents(tools, id);
  return events === undefined ? undefined : { ...events, events: events.events.map(viewsOf).toReversed() };
}

interface ChainEvents {
  readonly owner: ViewOwner;
  readonly events: readonly PayonceEvent[];
}

async function paymentEvents({ store, digest }: LedgerTools, paymentId: PaymentId): Promise<ChainEvents | undefined> {
  const chain = await readChain(store, paymentId);
  if (chain?.first.first === undefined) return undefined;
  const { first, payment } = chain.first;
  const outcomes = chain.transitions.filter(({ type }) => isOutcome(type));
  return { owner: ownerOf(payment), events: outcomes.map((transition) => eventOf(digest, transition, first)) };
}

async function orderEvents({ orders, digest }: LedgerTools, orderId: OrderId): Promise<ChainEvents | undefined> {
  const page = { afterSequence: 0, limit: LONGEST_ORDER_CHAIN };
  const transitions = await orders.listOrderTransitions(orderId, page);
  if (transitions.length === 0) return undefined;
  const { details, order } = orderChainOf(transitions);
  const outcomes = transitions.filter(({ type }) => isOrderOutcome(type));
  return { owner: ownerOf(order), events: outcomes.map((transition) => orderEventOf(digest, transition, details)) };
}

function ownerOf({ tenantId, mode }: ViewOwner): ViewOwner {
  return { tenantId, mode };
}

/**
 * @returns the keys of derived rows that are missing or stored differently, assuming that all events were projected;
 * also the key of a row in the list of reviews that should not exist. The marks of projected events are not compared,
 * because an event without a mark is republished
 */
export async function wrongRows(views: Pick<ViewStore, 'read'>, { events }: ChainViews): Promise<readonly ViewKey[]> {
  const implied = [
    ...events.flatMap(({ lasting }) => lasting),
    ...events.slice(0, 1).flatMap(({ ofReference }) => ofReference),
    ...newestHeads(events),
  ];
  const wrong: ViewKey[] = [...(await wrongReview(views, events))];
  for (const row of implied) {
    const found = await views.read(row);
    if (found === undefined || !sameRow(found, row)) wrong.push({ partition: row.partition, sort: row.sort });
  }
  return wrong;
}

/**
 * Compares only the existence of the row in the list of reviews, because the row's time depends on the order in which
 * the events were projected.
 */
async function wrongReview(
  views: Pick<ViewStore, 'read'>,
  [newest]: ChainViews['events'],
): Promise<readonly ViewKey[]> {
  if (newest === undefined) return [];
  const { row, ...key } = newest.review;
  return ((await views.read(key)) === undefined) === (row === undefined) ? [] : [key];
}

/**
 * Returns whether this row can be derived from the chain in the Ledger, in its present or an earlier state. Rows of an
 * earlier state are accepted, because the Views can lag behind the Ledger.
 */
export async function isImplied(tools: LedgerTools, chainId: ChainId, row: ViewRow): Promise<boolean> {
  // The row of a reference has sequence 0, because it is the same for every event of the payment.
  const isWhole = isOrderId(chainId) || row.sequence === 0;
  const events = isWhole ? (await readChainViews(tools, chainId))?.events : await viewsAt(tools, chainId, row.sequence);
  return (events ?? []).some((event) =>
    [...event.lasting, ...event.ofReference, ...event.heads, event.projectedMark, event.review.row ?? []]
      .flat()
      .some((each) => sameRow(each, row)),
  );
}

/** Derives the rows at one sequence from two transitions only, because the whole chain may contain thousands. */
async function viewsAt(
  { store, digest }: LedgerTools,
  paymentId: PaymentId,
  sequence: number,
): Promise<readonly EventViews[]> {
  const [first] = await store.listTransitions(paymentId, { afterSequence: 0, limit: 1 });
  const [at] = await store.listTransitions(paymentId, { afterSequence: sequence - 1, limit: 1 });
  if (first?.first === undefined || at?.sequence !== sequence || !isOutcome(at.type)) return [];
  return [viewsOf(eventOf(digest, at, first.first))];
}

/**
 * Rewrites the heads (the rows with the current state) and the reference row, and writes or deletes the row in the list
 * of reviews. Keeps a newer head that the projector wrote after the read. A wrong head is overwritten without being
 * deleted first, so that the object is never missing from a list.
 */
export async function restoreHeads(views: ViewStore, { events }: ChainViews): Promise<void> {
  const [newest] = events;
  await views.put(events.slice(0, 1).flatMap(({ ofReference }) => ofReference));
  for (const [index, head] of newestHeads(events).entries()) {
    await rounds('a row of a payment or an order in the Views', async () => {
      const found = await views.read(head);
      if (found !== undefined && found.sequence > head.sequence) return 'right';
      const review = index === 0 && newest !== undefined ? await reviewToRestore(views, newest) : [];
      if (found !== undefined && sameRow(found, head) && review.length === 0) return 'right';
      return (await views.exchange([{ key: head, from: found ?? null, to: head }, ...review])) ? 'restored' : 'again';
    });
  }
}

async function reviewToRestore(
  views: Pick<ViewStore, 'read'>,
  newest: ChainViews['events'][number],
): Promise<readonly RowChange[]> {
  const [key] = await wrongReview(views, [newest]);
  return key === undefined ? [] : [{ key, ...defined({ to: newest.review.row }) }];
}

/** @param events newest first */
function newestHeads(events: readonly EventViews[]): readonly ViewRow[] {
  const byKey = new Map<string, ViewRow>();
  for (const head of events.flatMap(({ heads }) => heads)) {
    const key = `${head.partition} ${head.sort}`;
    if (!byKey.has(key)) byKey.set(key, head);
  }
  return [...byKey.values()];
}

function sameRow(left: ViewRow, right: ViewRow): boolean {
  return (
    left.partition === right.partition &&
    left.sort === right.sort &&
    left.list === right.list &&
    left.sequence === right.sequence &&
    left.body === right.body
  );
}
