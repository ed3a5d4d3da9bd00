import type { PayonceEvent, PublicEventType } from '../../events/domain/event.ts';
import { PUBLIC_EVENT_TYPES } from '../../events/domain/event.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import type { PaymentStatus, TransitionType } from '../../payments/domain/payment.ts';
import type { Account, Posting } from '../../payments/domain/posting.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import {
  bookPartition,
  bookPlace,
  eventPartition,
  eventPlace,
  paymentPartition,
  paymentPlace,
  referencePartition,
  seenKey,
  statusPartition,
  typePartition,
  type ViewKey,
  type ViewOwner,
} from './lists.ts';

/**
 * A row of the Views. The same event always produces the same row. Rows of payments and events hold no copy of the object:
 * a list reads it from the Ledger. So a row is below a kilobyte whatever the payment carries, and holds no personal data.
 */
export interface ViewRow extends ViewKey {
  /** The list of the index that the row is in as well. */
  readonly list?: string;
  /** The payment from which the row is derived. Absent in a day's total. */
  readonly paymentId?: PaymentId;
  readonly sequence: number;
  /** JSON. */
  readonly body: string;
}

/** The rows that one event implies. */
export interface EventViews {
  readonly owner: ViewOwner;
  readonly occurredAtMs: number;
  /** Rows that never change. They can be put in any order and any number of times. */
  readonly lasting: readonly ViewRow[];
  /** Also lasting, and the same for every event of the payment. Written before the first head. */
  readonly ofReference: readonly ViewRow[];
  /** The payment after this event. It replaces the head of an earlier event, never that of a later one. */
  readonly head: ViewRow;
  /** Written last: if it exists, all rows above were written. */
  readonly seen: ViewRow;
}

export const DAY_MS = 24 * 60 * 60 * 1000;

/** The UTC midnight at or before `ms`. Unix milliseconds. */
export function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}

export function viewsOf(event: PayonceEvent): EventViews {
  const owner = { tenantId: event.tenant, mode: event.mode };
  const { occurredAtMs } = event;
  const { id, type, sequence } = event.event;
  // As `paymentObject` renders it.
  const payment = event.payment as PayonceEvent['payment'] & PaymentFields;
  const { id: paymentId, status, reference } = payment;
  const sort = paymentPlace(payment.created, paymentId);
  return {
    owner,
    occurredAtMs,
    lasting: [...bookRows(owner, event), ...(isPublicType(type) ? [eventRow(owner, event, type)] : [])],
    ofReference:
      reference === null
        ? []
        : [{ partition: referencePartition(owner, reference), sort, paymentId, sequence: 0, body: '{}' }],
    head: {
      partition: paymentPartition(owner, paymentId),
      sort,
      list: statusPartition(owner, status, paymentId),
      paymentId,
      sequence,
      body: JSON.stringify({ status } satisfies HeadBody),
    },
    seen: { ...seenKey({ paymentId, sequence }), paymentId, sequence, body: JSON.stringify(id) },
  };
}

/** Whether the event is visible to merchants. */
export function isPublicType(type: TransitionType): type is PublicEventType {
  return PUBLIC_EVENT_TYPES.some((each) => each === type);
}

/** The fields of a payment that the lists use. */
interface PaymentFields {
  readonly id: PaymentId;
  readonly status: PaymentStatus;
  readonly reference: string | null;
  /** Unix seconds. */
  readonly created: number;
}

/** What the row of a payment says. */
export interface HeadBody {
  readonly status: PaymentStatus;
}

/** What the row of an event says. */
export interface EventBody {
  readonly type: PublicEventType;
}

function eventRow(owner: ViewOwner, { event, payment, occurredAtMs }: PayonceEvent, type: PublicEventType): ViewRow {
  const paymentId = payment.id as PaymentId;
  return {
    partition: eventPartition(owner, paymentId),
    sort: eventPlace({ occurredAtMs, id: event.id }),
    list: typePartition(owner, type, paymentId),
    paymentId,
    sequence: event.sequence,
    body: JSON.stringify({ type } satisfies EventBody),
  };
}

/** The postings of one transition: all of them, or those on one account. */
export interface BookEntry {
  readonly occurredAtMs: number;
  readonly paymentId: PaymentId;
  readonly sequence: number;
  readonly type: TransitionType;
  readonly legs: readonly (Posting & { readonly leg: number })[];
}

/**
 * The account without rows of its own: almost every set of postings moves money at the processor, so its entries are read from
 * the book of all.
 */
export const ACCOUNT_OF_ALL: Account = 'processor_clearing';

/** One row for the whole set of postings, so that no reader sees part of it, and one row per account. */
function bookRows(owner: ViewOwner, { event, payment, postings, occurredAtMs }: PayonceEvent): readonly ViewRow[] {
  if (postings.length === 0) return [];
  const paymentId = payment.id as PaymentId;
  const { sequence, type } = event;
  const legs = postings.map((posting, leg) => ({ ...posting, leg }));
  const rowOf = (book: Account | 'all', shown: BookEntry['legs']): ViewRow => {
    const entry: BookEntry = { occurredAtMs, paymentId, sequence, type, legs: shown };
    return {
      partition: bookPartition(owner, book, paymentId),
      sort: bookPlace(entry),
      paymentId,
      sequence,
      body: JSON.stringify(entry),
    };
  };
  const posted = ACCOUNTS.filter(
    (account) => account !== ACCOUNT_OF_ALL && legs.some((leg) => leg.account === account),
  );
  const own = posted.map((account) =>
    rowOf(
      account,
      legs.filter((leg) => leg.account === account),
    ),
  );
  return [rowOf('all', legs), ...own];
}

export function bookEntryOf({ body }: ViewRow): BookEntry {
  return JSON.parse(body) as BookEntry;
}
