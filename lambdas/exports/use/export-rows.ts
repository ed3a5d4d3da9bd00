import { decimalAmount, shownAmount } from '../../kernel/currency.ts';
import { defined } from '../../kernel/defined.ts';
import { timeSortKey } from '../../kernel/places.ts';
import type { Payment } from '../../payments/domain/payment.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import { isOrderId, partId } from '../../payments/ids.ts';
import type { TransitionReader } from '../../payments/use/transition-reader.ts';
import {
  disputePartition,
  entryList,
  eventList,
  idOf,
  paymentList,
  timeOf,
  type ViewList,
} from '../../views/domain/lists.ts';
import type { EventBody, HeadBody, ViewRow } from '../../views/domain/views.ts';
import { bookEntryOf } from '../../views/domain/views.ts';
import { mergedRows } from '../../views/use/merged-rows.ts';
import type { ViewStore } from '../../views/use/view-store.ts';
import type { Cell } from '../domain/csv.ts';
import type { DataExport, ExportFilters } from '../domain/data-export.ts';
import type { AllExportRows, ExportRows } from './exports.ts';

export interface ExportRowsTools {
  readonly views: Pick<ViewStore, 'range'>;
  readonly transitions: Pick<TransitionReader, 'readTransition'>;
}

const PAGE_ROWS = 500;
const READS_AT_ONCE = 32;

type Row = readonly Cell[];
type Read = (row: ViewRow) => Promise<Transition | undefined>;

interface Source {
  readonly columns: readonly string[];
  readonly list: (asked: DataExport) => ViewList;
  readonly rowsOf: (row: ViewRow, filters: ExportFilters, read: Read) => Promise<readonly Row[]>;
}

const PAYMENT_COLUMNS = ['processor', 'charge_id', 'reference'];
const AMOUNT = ['amount', 'amount_minor', 'currency'];

const SOURCES = {
  entries: {
    columns: ['created', 'payment', 'sequence', 'type', 'account', 'direction', ...AMOUNT, ...PAYMENT_COLUMNS],
    list: (owner) => entryList(owner, 'all'),
    rowsOf: async (row, { account, currency }, read) => {
      const { occurredAtMs, paymentId, sequence, type, legs } = bookEntryOf(row);
      const wanted = legs.filter((leg) => is(account, leg.account) && is(currency, leg.currency));
      if (wanted.length === 0) return [];
      const about = ofTransition(await read({ ...row, chainId: paymentId, sequence }));
      return wanted.map((leg) => {
        const place = [time(occurredAtMs), paymentId, sequence, type, leg.account, leg.direction];
        return [...place, ...amount(leg.amountMinor, leg.currency), ...about];
      });
    },
  },
  payments: {
    columns: [
      'created',
      'payment',
      'status',
      ...AMOUNT,
      'amount_captured',
      'amount_captured_minor',
      'amount_refunded',
      'amount_refunded_minor',
      'fee',
      'fee_minor',
      'other_fees',
      ...PAYMENT_COLUMNS,
      'failure',
      'cancellation_reason',
    ],
    list: (owner) => paymentList(owner, undefined),
    rowsOf: async (row, filters, read) => {
      const { status, amountMinor, currency = filters.currency ?? '' } = JSON.parse(row.body) as HeadBody;
      if (!is(filters.status, status) || !isInRange(filters, amountMinor) || !is(filters.currency, currency)) return [];
      const payment = (await read(row))?.payment;
      return payment !== undefined && is(filters.currency, payment.currency) ? [paymentRow(payment)] : [];
    },
  },
  refunds: {
    columns: [
      'occurred',
      'refund',
      'payment',
      'status',
      ...AMOUNT,
      'refund_created',
      'processor',
      'charge_id',
      'reference',
      'failure',
    ],
    list: (owner) => eventList(owner, undefined),
    rowsOf: async (row, filters, read) => {
      if (!(JSON.parse(row.body) as EventBody).type.startsWith('refund.')) return [];
      const { payment, subject } = (await read(row)) ?? {};
      if (payment === undefined || subject?.kind !== 'refund') return [];
      const { refundId, status, amountMinor, currency = payment.currency, chargeId, createdAtMs, failure } = subject;
      if (!is(filters.status, status) || !is(filters.currency, currency)) return [];
      const id = partId('refund', payment.id, refundId);
      const money = amount(amountMinor, currency);
      const about = [time(createdAtMs), payment.processorName, chargeId, payment.reference, failure?.code];
      return [[time(timeOf(row.sort)), id, payment.id, status, ...money, ...about]];
    },
  },
  disputes: {
    columns: ['created', 'dispute', 'payment', 'status', ...AMOUNT, ...PAYMENT_COLUMNS],
    list: (owner) => ({ partitions: [disputePartition(owner)] }),
    rowsOf: async (row, filters, read) => {
      const payment = (await read(row))?.payment;
      const id = idOf(row.sort);
      const found = payment?.disputes?.find(({ disputeId }) => partId('dispute', payment.id, disputeId) === id);
      if (payment === undefined || found === undefined) return [];
      const { status, amountMinor, currency = payment.currency, chargeId, createdAtMs } = found;
      if (!is(filters.status, status) || !is(filters.currency, currency)) return [];
      const about = [payment.processorName, chargeId, payment.reference];
      return [[time(createdAtMs), id, payment.id, status, ...amount(amountMinor, currency), ...about]];
    },
  },
  events: {
    columns: ['created', 'event', 'type', 'payment', 'order', 'sequence', ...AMOUNT, ...PAYMENT_COLUMNS],
    list: (owner) => eventList(owner, undefined),
    rowsOf: async (row, filters, read) => {
      const { type, currency, amountMinor } = JSON.parse(row.body) as EventBody;
      if (!is(filters.type, type) || !is(filters.currency, currency)) return [];
      const { chainId = '', sequence } = row;
      const ids = chainId.startsWith('ord_') ? [undefined, chainId] : [chainId, undefined];
      const about = ofTransition(await read(row));
      const place = [time(timeOf(row.sort)), idOf(row.sort), type, ...ids, sequence];
      return [[...place, ...amount(amountMinor, currency), ...about]];
    },
  },
} as const satisfies Readonly<Record<keyof AllExportRows, Source>>;

/**
 * Rows are read oldest first: the list from the Views, and the data of payments from the Ledger. Entries, refunds and
 * events show the state after their transition. Payments and disputes show the state after the newest projected
 * transition.
 *
 * Reading a page throws RetryableError when the rows cannot be read now.
 */
export function exportRows(tools: ExportRowsTools): AllExportRows {
  const { entries, payments, refunds, disputes, events } = SOURCES;
  return {
    entries: rowsFrom(tools, entries),
    payments: rowsFrom(tools, payments),
    refunds: rowsFrom(tools, refunds),
    disputes: rowsFrom(tools, disputes),
    events: rowsFrom(tools, events),
  };
}

function rowsFrom({ views, transitions }: ExportRowsTools, { columns, list, rowsOf }: Source): ExportRows {
  const read: Read = async ({ chainId, sequence }) =>
    chainId === undefined || isOrderId(chainId)
      ? undefined
      : transitions.readTransition({ paymentId: chainId, sequence });
  return {
    columns,
    page: async (asked, after) => {
      const found = await mergedRows(views, {
        ...list(asked),
        // The cursor followed by a space is the next possible sort key.
        from: after === undefined ? timeSortKey(asked.fromMs) : `${after} `,
        until: timeSortKey(asked.untilMs),
        limit: PAGE_ROWS,
        consistent: true,
      });
      const rows: Row[] = [];
      for (let begin = 0; begin < found.length; begin += READS_AT_ONCE) {
        const some = found.slice(begin, begin + READS_AT_ONCE);
        rows.push(...(await Promise.all(some.map((row) => rowsOf(row, asked.filters, read)))).flat());
      }
      const last = found.length < PAGE_ROWS ? undefined : found.at(-1);
      return { rows, ...defined({ next: last?.sort }) };
    },
  };
}

function paymentRow(payment: Payment): Row {
  const { amountMinor, amountCapturedMinor, amountRefundedMinor, currency, feeMinor, otherFees } = payment;
  const both = (minor: number): Row => [{ decimal: decimalAmount(minor, currency) }, minor];
  return [
    time(payment.createdAtMs),
    payment.id,
    payment.status,
    ...amount(amountMinor, currency),
    ...both(amountCapturedMinor),
    ...both(amountRefundedMinor),
    ...(feeMinor === undefined ? [undefined, undefined] : both(feeMinor)),
    otherFees?.map((fee) => shownAmount(fee.amountMinor, fee.currency)).join(', '),
    ...ofPayment(payment),
    payment.failure?.code,
    payment.cancelReason,
  ];
}

/** A stray charge, its refunds and its disputes have a charge id of their own. */
function ofTransition(transition: Transition | undefined): Row {
  if (transition === undefined) return [undefined, undefined, undefined];
  const { payment, subject } = transition;
  return ofPayment(
    subject !== undefined && 'chargeId' in subject ? { ...payment, chargeId: subject.chargeId } : payment,
  );
}

function ofPayment({ processorName, chargeId, reference }: Payment): Row {
  return [processorName, chargeId, reference];
}

function amount(amountMinor: number, currency: string): Row {
  return [decimalAmount(amountMinor, currency), amountMinor, currency];
}

function is(wanted: string | undefined, value: string): boolean {
  return wanted === undefined || wanted === value;
}

function isInRange({ amountFromMinor: from, amountToMinor: to }: ExportFilters, minor: number): boolean {
  return minor >= (from ?? minor) && minor <= (to ?? minor);
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
