import type { OrderEvent, PaymentEvent, PayonceEvent, PublicEventType } from '../../events/domain/event.ts';
import { PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import { defined } from '../../kernel/defined.ts';
import type { OrderId, PaymentId } from '../../kernel/ids.ts';
import { createdSortKey } from '../../kernel/places.ts';
import type { OrderStatus } from '../../orders/domain/order.ts';
import type { Dispute, OutcomeType, PaymentStatus } from '../../payments/domain/payment.ts';
import type { Account, Posting } from '../../payments/domain/posting.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import type { ChainId } from '../../payments/ids.ts';
import {
  bookPartition,
  disputePartition,
  entrySortKey,
  eventPartition,
  eventSortKey,
  orderPartition,
  orderStatusPartition,
  paymentPartition,
  projectedKey,
  REVIEWS,
  referencePartition,
  statusPartition,
  typePartition,
  type ViewKey,
  type ViewOwner,
} from './lists.ts';
import { type VolumeContribution, volumeContribution } from './volumes.ts';

/**
 * A row of the Views. The same event always produces the same row. Rows of payments, orders, disputes and events do not
 * contain the API object; it is read from the Ledger when a list is shown. Such a row therefore contains no personal
 * data, and is smaller than a kilobyte even for large payments.
 */
export interface ViewRow extends ViewKey {
  /** The partition of the index `lists` that also contains the row. */
  readonly list?: string;
  /** Absent in a daily total and in a mismatch. */
  readonly chainId?: ChainId;
  readonly sequence: number;
  /** Content as JSON. */
  readonly body: string;
}

export interface EventViews {
  readonly owner: ViewOwner;
  readonly occurredAtMs: number;
  /** Rows that never change. They can be written repeatedly and in any order. */
  readonly lasting: readonly ViewRow[];
  /**
   * Rows that never change and are the same for every event of the payment. They are written before the payment's head
   * is written for the first time.
   */
  readonly ofReference: readonly ViewRow[];
  /**
   * One row (a head) with the state of the payment or order after this event. If the event concerns a dispute, also a
   * head with the state of the dispute. A head replaces the head of an earlier event, never the head of a later event.
   */
  readonly heads: readonly ViewRow[];
  /**
   * Key of the payment or order in the list of reviews. The row exists while the payment or order is in review. It is
   * written or deleted in the transaction that replaces the first of the `heads`.
   */
  readonly review: ViewKey & { readonly row?: ViewRow };
  /** Written last: if this row exists, all rows above were written. */
  readonly projectedMark: ViewRow;
}

export const DAY_MS = 24 * 60 * 60 * 1000;

export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

export function viewsOf(event: PayonceEvent): EventViews {
  return 'payment' in event ? paymentViews(event) : orderViews(event);
}

function orderViews(event: OrderEvent): EventViews {
  const owner = { tenantId: event.tenant, mode: event.mode };
  const { id, type, sequence, data } = event.event;
  // The cast is safe, because `orderObject` renders these fields.
  const { id: chainId, status, created } = data.object as unknown as OrderFields;
  const sort = createdSortKey(created, chainId);
  return {
    owner,
    occurredAtMs: event.occurredAtMs,
    lasting: [eventRow(owner, event, chainId, type)],
    ofReference: [],
    heads: [
      {
        partition: orderPartition(owner, chainId),
        sort,
        list: orderStatusPartition(owner, status, chainId),
        chainId,
        sequence,
        body: JSON.stringify({ status } satisfies OrderHeadBody),
      },
    ],
    review: reviewOf(event, { sort, chainId, status }),
    projectedMark: { ...projectedKey(chainId, sequence), chainId, sequence, body: JSON.stringify(id) },
  };
}

function paymentViews(event: PaymentEvent): EventViews {
  const owner = { tenantId: event.tenant, mode: event.mode };
  const { occurredAtMs } = event;
  const { id, type, sequence } = event.event;
  // The cast is safe, because `paymentObject` renders these fields.
  const payment = event.payment as PaymentEvent['payment'] & PaymentFields;
  const { id: paymentId, status, amount: amountMinor, currency, reference } = payment;
  const sort = createdSortKey(payment.created, paymentId);
  const head = {
    partition: paymentPartition(owner, paymentId),
    sort,
    list: statusPartition(owner, status, paymentId),
    chainId: paymentId,
    sequence,
    body: JSON.stringify({ status, amountMinor, currency, reference } satisfies HeadBody),
  };
  return {
    owner,
    occurredAtMs,
    lasting: [...bookRows(owner, event), ...(isPublicType(type) ? [eventRow(owner, event, paymentId, type)] : [])],
    ofReference:
      reference === null
        ? []
        : [{ partition: referencePartition(owner, reference), sort, chainId: paymentId, sequence: 0, body: '{}' }],
    heads: [head, ...disputeHead(owner, event, paymentId)],
    review: reviewOf(event, {
      sort,
      chainId: paymentId,
      status,
      amountMinor,
      currency,
      ...defined({ failureCode: payment.failure?.code }),
    }),
    projectedMark: { ...projectedKey(paymentId, sequence), chainId: paymentId, sequence, body: JSON.stringify(id) },
  };
}

function reviewOf(
  { tenant: tenantId, mode, occurredAtMs: sinceMs, event: { sequence } }: PayonceEvent,
  {
    sort,
    chainId,
    status,
    ...about
  }: Pick<ViewRow, 'sort'> & { readonly chainId: ChainId; readonly status: string } & Pick<
      ReviewBody,
      'amountMinor' | 'currency' | 'failureCode'
    >,
): EventViews['review'] {
  const key = { partition: REVIEWS, sort };
  if (status !== IN_REVIEW) return key;
  const body = JSON.stringify({ tenantId, mode, sinceMs, ...about } satisfies ReviewBody);
  return { ...key, row: { ...key, chainId, sequence, body } };
}

export function isInReview({ body }: Pick<ViewRow, 'body'>): boolean {
  return (JSON.parse(body) as { readonly status?: string }).status === IN_REVIEW;
}

function disputeHead(owner: ViewOwner, { event }: PaymentEvent, chainId: PaymentId): readonly ViewRow[] {
  const { data, sequence } = event;
  const { object } = data;
  if (object['object'] !== 'dispute') return [];
  // The cast is safe, because `disputeObject` renders these fields.
  const { id, created, status } = object as unknown as DisputeFields;
  const body = JSON.stringify({ status } satisfies DisputeHeadBody);
  return [{ partition: disputePartition(owner), sort: createdSortKey(created, id), chainId, sequence, body }];
}

/** Returns whether merchants can see events of this type. */
export function isPublicType(type: string): type is PublicEventType {
  return PUBLIC_EVENT_TYPES.some((each) => each === type);
}

interface PaymentFields {
  readonly id: PaymentId;
  readonly status: PaymentStatus;
  /** Minor units. */
  readonly amount: number;
  readonly currency: string;
  readonly failure: { readonly code: string } | null;
  readonly reference: string | null;
  /** Unix seconds. */
  readonly created: number;
}

interface OrderFields {
  readonly id: OrderId;
  readonly status: OrderStatus;
  /** Unix seconds. */
  readonly created: number;
}

interface DisputeFields {
  readonly id: string;
  readonly status: Dispute['status'];
  /** Unix seconds. */
  readonly created: number;
}

/** The content of a payment's row. */
export interface HeadBody {
  readonly status: PaymentStatus;
  /** Minor units. */
  readonly amountMinor: number;
  /** Absent in rows that an earlier version wrote. */
  readonly currency?: string;
  /** Absent in rows that an earlier version wrote. Null if the payment has none. */
  readonly reference?: string | null;
}

interface OrderHeadBody {
  readonly status: OrderStatus;
}

export interface ReviewBody extends ViewOwner {
  /** Time of the event that began the review. Unix milliseconds. */
  readonly sinceMs: number;
  /** Minor units. Absent for an order. */
  readonly amountMinor?: number;
  readonly currency?: string;
  readonly failureCode?: string;
}

const IN_REVIEW = 'needs_review' satisfies PaymentStatus & OrderStatus;

export interface DisputeHeadBody {
  readonly status: Dispute['status'];
}

/** Daily volumes are sums of these rows. */
export type EventBody = VolumeContribution;

function eventRow(
  owner: ViewOwner,
  { event, occurredAtMs }: PayonceEvent,
  chainId: ChainId,
  type: PublicEventType,
): ViewRow {
  return {
    partition: eventPartition(owner, chainId),
    sort: eventSortKey({ occurredAtMs, id: event.id }),
    list: typePartition(owner, type, chainId),
    chainId,
    sequence: event.sequence,
    body: JSON.stringify(volumeContribution(type, event) satisfies EventBody),
  };
}

/** The postings of one transition: all of them, or only the postings on one account. */
export interface PostingRow {
  readonly occurredAtMs: number;
  readonly paymentId: PaymentId;
  readonly sequence: number;
  readonly type: OutcomeType;
  readonly legs: readonly (Posting & { readonly leg: number })[];
}

/**
 * The only account without rows of its own. Almost every set of postings has an entry on this account, so its entries
 * are read from the list of all postings.
 */
export const IMPLICIT_ACCOUNT: Account = 'processor_clearing';

/**
 * Returns one row for the whole set of postings, so that no reader sees only a part of the set, and one row for each
 * account with postings, except {@link IMPLICIT_ACCOUNT}. Without postings, returns no rows.
 */
function bookRows(owner: ViewOwner, { event, payment, postings, occurredAtMs }: PaymentEvent): readonly ViewRow[] {
  if (postings.length === 0) return [];
  const paymentId = payment.id as PaymentId;
  const { sequence, type } = event;
  const legs = postings.map((posting, leg) => ({ ...posting, leg }));
  const rowOf = (book: Account | 'all', shown: PostingRow['legs']): ViewRow => {
    const entry: PostingRow = { occurredAtMs, paymentId, sequence, type, legs: shown };
    return {
      partition: bookPartition(owner, book, paymentId),
      sort: entrySortKey(entry),
      chainId: paymentId,
      sequence,
      body: JSON.stringify(entry),
    };
  };
  const posted = ACCOUNTS.filter(
    (account) => account !== IMPLICIT_ACCOUNT && legs.some((leg) => leg.account === account),
  );
  const own = posted.map((account) =>
    rowOf(
      account,
      legs.filter((leg) => leg.account === account),
    ),
  );
  return [rowOf('all', legs), ...own];
}

export function bookEntryOf({ body }: ViewRow): PostingRow {
  return JSON.parse(body) as PostingRow;
}
