import { KeyAttribute, LedgerTable, RegistryTable } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { hashInPartition } from '../../kernel/email-hashes.ts';
import { hex, type Link } from '../../kernel/hash-chain.ts';
import { invariant } from '../../kernel/invariant.ts';
import { firstLookUpMs } from '../../kernel/looks.ts';
import { type Item, shardOf } from '../../kernel/platform/items.ts';
import { OWN_DETAILS, parseDetails } from '../../once/store/details-rows.ts';
import type { Row } from '../../postgres/database.ts';
import { OUTBOX_SHARDS } from '../../postgres/outbox.ts';
import { byteText, timestamp, valuesOf } from '../../postgres/values.ts';
import { reasonsOf } from '../domain/given-reason.ts';
import type { Payment } from '../domain/payment.ts';
import type { Transition } from '../domain/transition.ts';
import type { ChainId } from '../ids.ts';
import { type Effect, type OrphanedCallback, orphanSchedule } from '../use/effect-store.ts';
import {
  type ChargeToReturn,
  type Hold,
  type Inquiry,
  inquirySchedule,
  inquirySubject,
  isRoutine,
  type OpenOrder,
  orderSchedule,
  returnSchedule,
} from '../use/payment-store.ts';
import { type NewDetails, newDetails, parseTransition, sampledTrace, toTransitionItem } from './items.ts';
import { HOLDS, parseChargeToReturn, parseInquiry, parseOpenOrder, parseOrphan } from './queue-items.ts';

/** Statements receive the rows as JSON. */

type Columns = Readonly<Record<string, string | number | boolean>>;

/**
 * The PostgreSQL rows of a payment's transition, derived from its copy in the Ledger, and the commitments to its
 * personal data.
 */
export interface RowsOfCopy {
  readonly transition: Columns;
  readonly postings: readonly Columns[];
  readonly commitments: readonly { readonly part: string; readonly commitment: Uint8Array }[];
}

// ------------------------------------------------------------------------------------------------------------ transitions

export interface ChainRows {
  readonly transitions: readonly Columns[];
  readonly postings: readonly Columns[];
  readonly details: readonly Columns[];
}

export function rowsOfTransitions(transitions: readonly Transition[]): ChainRows {
  return {
    transitions: transitions.map((transition) =>
      rowOfChain(transition, transition.payment, toTransitionItem(transition)),
    ),
    postings: transitions.flatMap(rowsOfPostings),
    details: transitions.flatMap((transition) =>
      newDetails(transition).map((details) => rowOfDetails(transition.payment.id, transition.sequence, details)),
    ),
  };
}

/** The fields of a payment or an order that have their own columns. */
interface ChainState extends Pick<Payment, 'tenantId' | 'mode' | 'amountMinor' | 'currency' | 'reference'> {
  readonly id: ChainId;
  readonly status: string;
}

/** @param stored the transition without personal data */
export function rowOfChain(
  { sequence, type, occurredAtMs, prevHash, hash }: Link & { readonly type: string; readonly occurredAtMs: number },
  { id, tenantId, mode, status, amountMinor, currency, reference }: ChainState,
  stored: Item,
): Columns {
  return {
    chain_id: id,
    sequence,
    type,
    occurred_at: timestamp(occurredAtMs),
    tenant_id: tenantId,
    mode,
    status,
    amount_minor: amountMinor,
    currency,
    ...defined({ reference }),
    body: bodyText(stored),
    prev_hash: byteText(prevHash),
    hash: byteText(hash),
    shard: shardOf(id, OUTBOX_SHARDS),
    ...sampledTrace(),
  };
}

export function storedOfCopy(item: Item): Item {
  const { partitionKey, sortKey } = LedgerTable.recentOutcomesIndex;
  const ofLedger: ReadonlySet<string> = new Set([...Object.values(KeyAttribute), partitionKey, sortKey, 'trace']);
  return Object.fromEntries(Object.entries(item).filter(([name]) => !ofLedger.has(name)));
}

export function rowsOfCopy(item: Item): RowsOfCopy {
  const transition = parseTransition(item);
  const { payment, first, subject } = transition;
  const parts = [
    { part: OWN_DETAILS, commitment: first?.commitment },
    ...reasonsOf(subject).map(({ id: part, given: { commitment } }) => ({ part, commitment })),
  ];
  return {
    transition: rowOfChain(transition, payment, storedOfCopy(item)),
    postings: rowsOfPostings(transition),
    commitments: parts.flatMap(({ part, commitment }) => (commitment === undefined ? [] : [{ part, commitment }])),
  };
}

function rowsOfPostings({ sequence, occurredAtMs, payment, postings }: Transition): readonly Columns[] {
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

/** The binary fields in the `body` of a transition or an approval. In JSON, they are hexadecimal text. */
const BYTES: ReadonlySet<string> = new Set(['commitment', 'sums', 'begun']);

/** Returns the JSON for the `body` column. The hashes are omitted: they have their own columns. */
export function bodyText({ prevHash: _prevHash, hash: _hash, ...body }: Item): string {
  return JSON.stringify(body, function (this: Item, name: string, value: unknown) {
    const given = this[name];
    if (!(given instanceof Uint8Array)) return value;
    invariant(BYTES.has(name), `the JSON of a row cannot contain the binary field ${name}`);
    return hex(given);
  });
}

/** @param row the row, with `body` as text, because the driver's JSON parser does not decode binary fields */
export function storedOfRow(row: Row): Item {
  const { body, prev_hash: prevHash, hash } = valuesOf(row);
  return { ...bodyItem(String(body)), prevHash, hash };
}

export function bodyItem(text: string): Item {
  return JSON.parse(text, (name: string, value: unknown) =>
    BYTES.has(name) && typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'hex')) : value,
  ) as Item;
}

/** @param row as for {@link storedOfRow} */
export function parseTransitionRow(row: Row): Transition {
  return parseTransition(storedOfRow(row));
}

export function rowOfDetails(
  id: ChainId,
  sequence: number,
  { part = OWN_DETAILS, salt, details, emailHash }: NewDetails,
): Columns {
  return {
    chain_id: id,
    part,
    salt: byteText(salt),
    details: JSON.stringify(details),
    sequence,
    ...defined({ email_hash: emailHash }),
  };
}

/** @param row the row without its NULL columns */
export function newDetailsOf({ part, salt, details, email_hash: emailHash }: Row): NewDetails {
  return { part, salt, details, ...defined({ emailHash }) } as NewDetails;
}

export function newDetailsOfCopy(item: Item): NewDetails {
  const partition = item[RegistryTable.emailIndex.partitionKey];
  const emailHash = typeof partition === 'string' ? hashInPartition(partition) : undefined;
  return { part: String(item[KeyAttribute.sort]), ...parseDetails(item), ...defined({ emailHash }) };
}

// --------------------------------------------------------------------------------------------------- unfinished work

/** The queue entries that one transaction writes to the table `work`. */
export interface Queued extends Pick<Effect, 'toReturn' | 'inquiries' | 'hold' | 'reopened'> {}

export function workRowsOf({ toReturn = [], inquiries = [], hold, reopened }: Queued): readonly Columns[] {
  return [
    ...toReturn.map(rowOfReturn),
    ...inquiries.map(rowOfInquiry),
    ...(hold === undefined ? [] : [rowOfHold(hold)]),
    ...(reopened === undefined ? [] : [rowOfOrder(reopened)]),
  ];
}

export interface WorkKey {
  readonly kind: 'inquiry' | 'return' | 'hold' | 'order';
  readonly chain_id: string;
  readonly subject: string;
}

export function workKeyOfInquiry(inquiry: Inquiry): WorkKey {
  return { kind: 'inquiry', chain_id: inquiry.paymentId, subject: inquirySubject(inquiry) };
}

export function workKeyOfReturn({ paymentId, chargeId }: ChargeToReturn): WorkKey {
  return { kind: 'return', chain_id: paymentId, subject: chargeId };
}

/**
 * Inquiries that wait for a payer or a bank, and inquiries that wait for an operator, have separate queues, so that
 * they do not delay other inquiries.
 */
export function inquiryQueue(inquiry: Inquiry): 'unknown_outcome' | 'routine_inquiry' | 'undecidable' {
  if (inquiry.undecidable === true) return 'undecidable';
  return isRoutine(inquiry) ? 'routine_inquiry' : 'unknown_outcome';
}

function rowOfInquiry(inquiry: Inquiry): Columns {
  return {
    ...workKeyOfInquiry(inquiry),
    concerns: inquiry.operationId,
    queue: inquiryQueue(inquiry),
    due_at: timestamp(firstLookUpMs(inquirySchedule(inquiry))),
    since: timestamp(inquiry.claimedAtMs),
    ...defined({ reason: inquiry.waitsFor, undecidable: inquiry.undecidable }),
  };
}

export function parseInquiryRow(row: Row): Inquiry {
  const { concerns, chain_id, since, reason, version: seen, undecidable } = valuesOf(row);
  const optional = defined({ waitsFor: reason, undecidable, seen });
  return parseInquiry({ operationId: concerns, paymentId: chain_id, claimedAtMs: since, ...optional });
}

function rowOfReturn(charge: ChargeToReturn): Columns {
  return {
    ...workKeyOfReturn(charge),
    concerns: charge.chargeId,
    queue: 'return',
    due_at: timestamp(firstLookUpMs(returnSchedule(charge))),
    since: timestamp(charge.foundAtMs),
    reason: charge.by,
    ...defined({ undecidable: charge.undecidable }),
  };
}

export function parseReturnRow(row: Row): ChargeToReturn {
  const { concerns, chain_id, since, reason, version: seen, undecidable } = valuesOf(row);
  const optional = defined({ undecidable, seen });
  return parseChargeToReturn({ paymentId: chain_id, chargeId: concerns, by: reason, foundAtMs: since, ...optional });
}

/** The queue of holds that an earlier run of the job `expire-authorizations` has postponed. */
export const POSTPONED_HOLD = 'postponed_hold';

export function workKeyOfHold({ paymentId, authorizedAtMs }: Hold): WorkKey {
  return { kind: 'hold', chain_id: paymentId, subject: String(authorizedAtMs) };
}

function rowOfHold(hold: Hold): Columns {
  const { authorizedAtMs, dueAtMs, undecidable } = hold;
  return {
    ...workKeyOfHold(hold),
    queue: dueAtMs === undefined ? 'hold' : POSTPONED_HOLD,
    due_at: timestamp(dueAtMs ?? authorizedAtMs),
    since: timestamp(authorizedAtMs),
    ...defined({ undecidable }),
  };
}

export function parseHoldRow(row: Row): Hold {
  const { chain_id: paymentId, since: authorizedAtMs, queue, due_at, undecidable } = valuesOf(row);
  const dueAtMs = queue === POSTPONED_HOLD ? due_at : undefined;
  return HOLDS.parse({ paymentId, authorizedAtMs, ...defined({ dueAtMs, undecidable }) });
}

export function workKeyOfOrder({ orderId }: Pick<OpenOrder, 'orderId'>): WorkKey {
  return { kind: 'order', chain_id: orderId, subject: '' };
}

function rowOfOrder(open: OpenOrder): Columns {
  return {
    ...workKeyOfOrder(open),
    queue: 'open_order',
    due_at: timestamp(firstLookUpMs(orderSchedule(open))),
    since: timestamp(open.createdAtMs),
    version: open.sequence,
  };
}

export function parseOrderRow(row: Row): OpenOrder {
  const { chain_id: orderId, since: createdAtMs, version: sequence } = valuesOf(row);
  return parseOpenOrder({ orderId, createdAtMs, sequence });
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
