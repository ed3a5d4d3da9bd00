import { MetadataName } from '../../kernel/contract/metadata.ts';
import { EmailRow } from '../../kernel/contract/rows.ts';
import { type EmailHashes, emailPartitions } from '../../kernel/email-hashes.ts';
import { createdSortKey } from '../../kernel/places.ts';
import { type Payment, type PaymentStatus, paymentObject } from '../../payments/domain/payment.ts';
import { isOrderId } from '../../payments/ids.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { BOOKS_TIMEOUT_MS, type ProcessorBooks } from '../../payments/use/processor.ts';
import { readPayment } from '../../payments/use/read-payment.ts';
import { readDetailed, type TransitionReader } from '../../payments/use/transition-reader.ts';
import type { Owner } from '../../tenants/owners.ts';
import { paymentList, paymentPartition, referencePartition, type ViewKey, type ViewList } from '../domain/lists.ts';
import type { HeadBody, ViewRow } from '../domain/views.ts';
import { type ListOutcome, type ListPage, listFrom, shownPage } from './list-page.ts';
import type { ViewStore } from './view-store.ts';

export interface ListPaymentsTools {
  readonly views: Pick<ViewStore, 'range' | 'read'>;
  readonly store: PaymentStore;
  readonly transitions: TransitionReader;
  readonly emailHashes: EmailHashes;
  /** Lists payments by the hashes of their `receipt_email`. */
  readonly emailIndex: Pick<ViewStore, 'range'>;
  /** Charge records of all processors that this deployment calls. */
  readonly books: readonly ProcessorBooks[];
}

/** The cursors are payment ids from the request, not yet validated. */
export interface ListPayments extends ListPage {
  readonly status?: PaymentStatus;
  /**
   * Whether a status filter reads from the index, which requires a separate permission.
   * @default true
   */
  readonly byIndex?: boolean;
  readonly amountMinor?: number;
  /** Inclusive, like `amountToMinor`. */
  readonly amountFromMinor?: number;
  readonly amountToMinor?: number;
  readonly currency?: string;
  /** The `receipt_email`. Case-insensitive. */
  readonly email?: string;
  readonly reference?: string;
  /** A part of the reference. Case-insensitive. */
  readonly referencePart?: string;
  /** Must not be combined with `reference`. */
  readonly chargeId?: string;
}

/**
 * Each payment has the state after its newest projected event. Each row's `body` is the API object.
 *
 * @throws RetryableError when the page cannot be read now
 * @throws AmbiguousError when the charge cannot be read from a processor
 */
export async function listPayments(
  tools: ListPaymentsTools,
  caller: Owner,
  { email, reference, chargeId, currency, after, before, ...asked }: ListPayments,
): Promise<ListOutcome> {
  const { views, store, transitions, emailHashes, emailIndex } = tools;
  const {
    status,
    byIndex = true,
    amountMinor,
    amountFromMinor = amountMinor,
    amountToMinor = amountMinor,
    referencePart,
    ...page
  } = asked;
  const findSortKey = async (id: string): Promise<string | undefined> => {
    const found = await readPayment(store, caller, id);
    return found.kind === 'not_found' ? undefined : keyOf(caller, found.payment).sort;
  };
  /**
   * Rows that an earlier version wrote have no currency and no reference; for them, returns undefined if only the
   * loaded payment can decide.
   */
  const isMatch = (head: ViewRow): boolean | undefined => {
    const body = JSON.parse(head.body) as HeadBody;
    const { amountMinor: amount } = body;
    const isInRange = amount >= (amountFromMinor ?? amount) && amount <= (amountToMinor ?? amount);
    if (!isInRange || (status ?? body.status) !== body.status) return false;
    const isReferenced = referencePart === undefined || hasPart(body.reference, referencePart);
    const isOfCurrency =
      currency === undefined || (body.currency === undefined ? undefined : body.currency === currency);
    return isReferenced === false || isOfCurrency === false ? false : isReferenced && isOfCurrency;
  };
  const headOf = async ({ chainId, sort }: ViewRow): Promise<ViewRow | undefined> =>
    chainId === undefined || isOrderId(chainId)
      ? undefined
      : views.read({ partition: paymentPartition(caller, chainId), sort });
  const isLookUp = reference !== undefined || chargeId !== undefined || email !== undefined;
  const show = async (row: ViewRow): Promise<ViewRow | undefined> => {
    const head = isLookUp ? await headOf(row) : row;
    const found = head === undefined || isMatch(head) === false ? undefined : await shownPayment(transitions, head);
    // The details may have been erased, and payments with the same reference may have different addresses.
    if (found === undefined || (email !== undefined && !hasEmail(found, email))) return undefined;
    const { reference: of, currency: in_ } = JSON.parse(found.body) as ShownFields;
    if (referencePart !== undefined && hasPart(of, referencePart) === false) return undefined;
    return currency === undefined || in_ === currency ? found : undefined;
  };
  const listed = async (): Promise<{ readonly from: Pick<ViewStore, 'range'>; readonly list: ViewList }> => {
    if (chargeId !== undefined) return { from: only(await rowOfCharge(tools, caller, chargeId)), list: CHARGE };
    if (reference !== undefined) return { from: views, list: { partitions: [referencePartition(caller, reference)] } };
    if (email === undefined) return { from: views, list: paymentList(caller, byIndex ? status : undefined) };
    const hashes = await emailHashes.of(caller, email);
    return { from: emailIndex, list: { partitions: emailPartitions(EmailRow.payment, hashes) } };
  };
  return listFrom({ after, before, findSortKey }, async (cursors) => {
    const { from, list } = await listed();
    const isFiltered =
      (status !== undefined && list.indexed === undefined) ||
      amountFromMinor !== undefined ||
      amountToMinor !== undefined ||
      currency !== undefined ||
      referencePart !== undefined ||
      (email !== undefined && (reference ?? chargeId) !== undefined);
    // The rows of a look-up do not contain the payment's fields, so the loaded payment decides.
    const matches = isLookUp ? () => undefined : isMatch;
    return shownPage(
      from,
      list,
      { ...page, ...cursors },
      isFiltered ? { matches, show, findSortKey } : { show, findSortKey },
    );
  });
}

/** The time is truncated to whole seconds, because these rows are sorted by the payment's `created`. */
function keyOf(owner: Owner, { id, createdAtMs }: Pick<Payment, 'id' | 'createdAtMs'>): ViewKey {
  return { partition: paymentPartition(owner, id), sort: createdSortKey(Math.floor(createdAtMs / 1000), id) };
}

/**
 * Placeholder list for the filter by charge id. Its partition is never read: {@link rowOfCharge} finds the only row.
 */
const CHARGE = { partitions: ['charge'] };

function only(row: ViewRow | undefined): Pick<ViewStore, 'range'> {
  return {
    range: async ({ from, until }) => (row !== undefined && row.sort >= from && row.sort < until ? [row] : []),
  };
}

/**
 * Finds a charge's payment through the processors' records, as callbacks do, because there is no row per charge.
 *
 * @returns undefined when no processor has the charge, or when the charge belongs to another account or to another
 * caller's payment
 */
async function rowOfCharge(
  { books, store }: ListPaymentsTools,
  caller: Owner,
  chargeId: string,
): Promise<ViewRow | undefined> {
  for (const each of books.filter(({ mode }) => mode === caller.mode)) {
    const charge = await each.readCharge(chargeId, { timeoutMs: BOOKS_TIMEOUT_MS });
    const found = charge?.paymentId === undefined ? undefined : await readPayment(store, caller, charge.paymentId);
    if (found?.kind !== 'found') continue;
    const { payment, details } = found;
    if (payment.processorName !== each.name || details.processor.account !== each.account) continue;
    return { ...keyOf(caller, payment), chainId: payment.id, sequence: 0, body: '{}' };
  }
  return undefined;
}

/** @param row a row with the payment as shown by the API */
function hasEmail({ body }: ViewRow, email: string): boolean {
  const { metadata } = JSON.parse(body) as { readonly metadata: Readonly<Record<string, string>> };
  return metadata[MetadataName.receiptEmail]?.toLowerCase() === email.toLowerCase();
}

interface ShownFields {
  readonly currency: string;
  readonly reference: string | null;
}

/** @returns undefined if the reference is not known */
function hasPart(reference: string | null | undefined, part: string): boolean | undefined {
  return reference === undefined ? undefined : (reference ?? '').toLowerCase().includes(part.toLowerCase());
}

/** @returns undefined when the Ledger has no such transition; a rebuild then removes the row */
export async function shownPayment(transitions: TransitionReader, row: ViewRow): Promise<ViewRow | undefined> {
  const { chainId, sequence } = row;
  if (chainId === undefined || isOrderId(chainId)) return undefined;
  const found = await readDetailed(transitions, { paymentId: chainId, sequence });
  return found && { ...row, body: JSON.stringify(paymentObject(found.transition.payment, found.first)) };
}
