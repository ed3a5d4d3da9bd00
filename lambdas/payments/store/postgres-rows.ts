import { defined } from '../../kernel/defined.ts';
import { hex } from '../../kernel/hash-chain.ts';
import { invariant } from '../../kernel/invariant.ts';
import { firstLookUpMs } from '../../kernel/looks.ts';
import { type Item, shardOf } from '../../kernel/platform/items.ts';
import { type DetailsRows, OWN_DETAILS } from '../../once/store/details-rows.ts';
import type { Row } from '../../postgres/database.ts';
import { byteText, timestamp, valuesOf } from '../../postgres/values.ts';
import type { Transition } from '../domain/transition.ts';
import { type Effect, type OrphanedCallback, orphanSchedule } from '../use/effect-store.ts';
import {
  type ChargeToReturn,
  type Hold,
  type Inquiry,
  inquirySchedule,
  isRoutine,
  type OpenOrder,
  orderSchedule,
  returnSchedule,
} from '../use/payment-store.ts';
import { type NewDetails, newDetails, parseTransition, sampledTrace, storedTransition } from './items.ts';
import { HOLDS, parseChargeToReturn, parseInquiry, parseOrphan } from './queue-items.ts';

/** The rows of payments in PostgreSQL, as values for the statements' JSON. */

type Columns = Readonly<Record<string, string | number | boolean>>;

/** Number of shards of the outbox. One worker reads a shard. */
const OUTBOX_SHARDS = 32;

// ------------------------------------------------------------------------------------------------------------ transitions

export function rowOfTransition(transition: Transition): Columns {
  const { sequence, type, occurredAtMs, payment, prevHash, hash } = transition;
  return {
    chain_id: payment.id,
    sequence,
    type,
    occurred_at: timestamp(occurredAtMs),
    tenant_id: payment.tenantId,
    mode: payment.mode,
    status: payment.status,
    amount_minor: payment.amountMinor,
    currency: payment.currency,
    ...defined({ reference: payment.reference }),
    body: bodyText(storedTransition(transition)),
    prev_hash: byteText(prevHash),
    hash: byteText(hash),
    shard: shardOf(payment.id, OUTBOX_SHARDS),
    ...sampledTrace(),
  };
}

export function rowsOfPostings({ sequence, occurredAtMs, payment, postings }: Transition): readonly Columns[] {
  return postings.map(({ account, direction, amountMinor, currency }, index) => ({
    chain_id: payment.id,
    sequence,
    leg: index + 1,
    tenant_id: payment.tenantId,
    mode: payment.mode,
    account,
    direction,
    amount_minor: amountMinor,
    currency,
    occurred_at: timestamp(occurredAtMs),
  }));
}

/** The fields of a transition whose bytes are hexadecimal text in its JSON. */
const BYTES: ReadonlySet<string> = new Set(['commitment', 'sums', 'begun']);

/** Returns a transition without its hashes as JSON. */
function bodyText({ prevHash: _prevHash, hash: _hash, ...body }: Item): string {
  return JSON.stringify(body, function (this: Item, name: string, value: unknown) {
    const given = this[name];
    if (!(given instanceof Uint8Array)) return value;
    invariant(BYTES.has(name), `the bytes of ${name} have no column`);
    return hex(given);
  });
}

/**
 * Returns the attributes of a transition as `storedTransition` made them.
 *
 * @param row has `body` as text, because the JSON of the driver has no bytes
 */
export function storedOfRow(row: Row): Item {
  const { body, prev_hash: prevHash, hash } = valuesOf(row);
  const stored = JSON.parse(String(body), (name: string, value: unknown) =>
    BYTES.has(name) && typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'hex')) : value,
  ) as Item;
  return { ...stored, prevHash, hash };
}

/** Parses a transition. @param row as for {@link storedOfRow} */
export function parseTransitionRow(row: Row): Transition {
  return parseTransition(storedOfRow(row));
}

export function rowsOfDetails(transition: Transition): readonly Columns[] {
  return newDetails(transition).map(({ part = OWN_DETAILS, salt, details, emailHash }) => ({
    chain_id: transition.payment.id,
    part,
    salt: byteText(salt),
    details: JSON.stringify(details),
    sequence: transition.sequence,
    ...defined({ email_hash: emailHash }),
  }));
}

/** Returns the personal data of a row, with the salt of its commitment. @param row without NULL */
export function newDetailsOf({ part, salt, details, email_hash: emailHash }: Row): NewDetails {
  return { part, salt, details, ...defined({ emailHash }) } as NewDetails;
}

export function detailsRowsOf(rows: readonly Row[]): DetailsRows {
  return new Map(rows.map((row) => [row['part'], valuesOf(row)]));
}

// --------------------------------------------------------------------------------------------------- unfinished work

/** The entries that one transaction adds to the queues. */
export interface Queued extends Pick<Effect, 'toReturn' | 'inquiries' | 'hold' | 'reopened'> {}

export function rowsOfWork({ toReturn = [], inquiries = [], hold, reopened }: Queued): readonly Columns[] {
  return [
    ...toReturn.map(rowOfReturn),
    ...inquiries.map(rowOfInquiry),
    ...(hold === undefined ? [] : [rowOfHold(hold)]),
    ...(reopened === undefined ? [] : [rowOfOrder(reopened)]),
  ];
}

/** The columns that identify an entry in the table `work`. */
export interface WorkKey {
  readonly kind: 'inquiry' | 'return' | 'hold' | 'order';
  readonly chain_id: string;
  readonly subject: string;
}

export function inquiryWork({ operationId, paymentId, waitsFor }: Inquiry): WorkKey {
  return { kind: 'inquiry', chain_id: paymentId, subject: waitsFor === 'books' ? 'books' : operationId };
}

export function returnWork({ paymentId, chargeId }: ChargeToReturn): WorkKey {
  return { kind: 'return', chain_id: paymentId, subject: chargeId };
}

/**
 * Returns the queue of an inquiry. Inquiries that wait for a payer or a bank, and inquiries that wait for an operator,
 * have queues of their own, so that they do not delay other inquiries.
 */
export function inquiryQueue(inquiry: Inquiry): 'unknown_outcome' | 'routine_inquiry' | 'undecidable' {
  if (inquiry.undecidable === true) return 'undecidable';
  return isRoutine(inquiry) ? 'routine_inquiry' : 'unknown_outcome';
}

function rowOfInquiry(inquiry: Inquiry): Columns {
  return {
    ...inquiryWork(inquiry),
    concerns: inquiry.operationId,
    queue: inquiryQueue(inquiry),
    due_at: timestamp(firstLookUpMs(inquirySchedule(inquiry))),
    since: timestamp(inquiry.claimedAtMs),
    ...defined({ reason: inquiry.waitsFor, undecidable: inquiry.undecidable }),
  };
}

export function parseInquiryRow(row: Row): Inquiry {
  const { concerns, chain_id, since, reason, undecidable } = valuesOf(row);
  const optional = defined({ waitsFor: reason, undecidable });
  return parseInquiry({ operationId: concerns, paymentId: chain_id, claimedAtMs: since, ...optional });
}

function rowOfReturn(charge: ChargeToReturn): Columns {
  return {
    ...returnWork(charge),
    concerns: charge.chargeId,
    queue: 'return',
    due_at: timestamp(firstLookUpMs(returnSchedule(charge))),
    since: timestamp(charge.foundAtMs),
    reason: charge.by,
    ...defined({ undecidable: charge.undecidable }),
  };
}

export function parseReturnRow(row: Row): ChargeToReturn {
  const { concerns, chain_id, since, reason, undecidable } = valuesOf(row);
  const optional = defined({ undecidable });
  return parseChargeToReturn({ paymentId: chain_id, chargeId: concerns, by: reason, foundAtMs: since, ...optional });
}

export function holdWork({ paymentId, authorizedAtMs }: Hold): WorkKey {
  return { kind: 'hold', chain_id: paymentId, subject: String(authorizedAtMs) };
}

function rowOfHold(hold: Hold): Columns {
  const { authorizedAtMs, undecidable } = hold;
  return {
    ...holdWork(hold),
    queue: 'hold',
    due_at: timestamp(authorizedAtMs),
    since: timestamp(authorizedAtMs),
    ...defined({ undecidable }),
  };
}

export function parseHoldRow(row: Row): Hold {
  const { chain_id: paymentId, since: authorizedAtMs, undecidable } = valuesOf(row);
  return HOLDS.parse({ paymentId, authorizedAtMs, ...defined({ undecidable }) });
}

function rowOfOrder(open: OpenOrder): Columns {
  return {
    kind: 'order',
    chain_id: open.orderId,
    subject: '',
    queue: 'open_order',
    due_at: timestamp(firstLookUpMs(orderSchedule(open))),
    since: timestamp(open.createdAtMs),
    version: open.sequence,
  };
}

// ---------------------------------------------------------------------------------------------------------------- orphans

export function rowOfOrphan(orphan: OrphanedCallback): Columns {
  return {
    operation_id: orphan.operationId,
    received_at: timestamp(orphan.receivedAtMs),
    reason: orphan.reason,
    due_at: timestamp(firstLookUpMs(orphanSchedule(orphan))),
    event: JSON.stringify(orphan.event),
    ...defined({ is_foreign: orphan.isForeign }),
  };
}

export function parseOrphanRow(row: Row): OrphanedCallback {
  const { operation_id, received_at, reason, is_foreign, event } = valuesOf(row);
  return parseOrphan({
    operationId: operation_id,
    event,
    reason,
    receivedAtMs: received_at,
    ...defined({ isForeign: is_foreign }),
  });
}
