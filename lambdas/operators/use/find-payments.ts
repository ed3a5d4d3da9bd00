import { EmailRow } from '../../kernel/contract/rows.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { emailPartitions } from '../../kernel/email-hashes.ts';
import { isFault } from '../../kernel/faults.ts';
import { parseIdempotencyKey } from '../../kernel/idempotency-key.ts';
import { type Mode, type PaymentId, type TenantId } from '../../kernel/ids.ts';
import { deriveOrderId, parseOrderId, paymentOfOrder } from '../../orders/ids.ts';
import { paymentObject } from '../../payments/domain/payment.ts';
import { detailsOf } from '../../payments/domain/transition.ts';
import { derivePaymentId, parsePaymentId, paymentOfPart } from '../../payments/ids.ts';
import { BOOKS_TIMEOUT_MS, type ProcessorBooks } from '../../payments/use/processor.ts';
import type { Owner } from '../../tenants/owners.ts';
import { type ListOutcome, type ListPage, listPage, MAX_EXAMINED } from '../../views/use/list-page.ts';
import { type ListPaymentsTools, listPayments } from '../../views/use/list-payments.ts';

export interface FindPaymentsTools {
  readonly search: Omit<ListPaymentsTools, 'books'>;
  /** The books of all processors, in which charges are looked up. */
  readonly books: readonly ProcessorBooks[];
  readonly digest: Digest;
}

interface SearchedPayments extends Pick<ListPage, 'after' | 'before' | 'limit'> {
  readonly text: string;
  /** Required unless the text is an id with a prefix. @default any tenant */
  readonly tenantId?: TenantId;
  readonly mode?: Mode;
}

/** A list outcome in which each payment has its tenant. */
type FoundPayments = Extract<ListOutcome, { readonly kind: 'found' }>;

/** For searches for a text that is not an id. */
const DEFAULT_MODE: Mode = 'live';

/** The id becomes a path segment of a request, so slashes are not allowed. */
const CHARGE_ID = /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$/;
/** A search by an id with a prefix needs no tenant. */
const PREFIXED_ID = /^[a-z]{2,5}_[A-Za-z0-9_.-]+$/;

export function isEmail(text: string): boolean {
  return text.includes('@');
}

export function isPrefixedId(text: string): boolean {
  return PREFIXED_ID.test(text);
}

/**
 * Uses the first interpretation of the text that has results.
 *
 * @throws RetryableError when a page cannot be read now, or when nothing is found and a processor did not respond
 */
export async function findPayments(tools: FindPaymentsTools, asked: SearchedPayments): Promise<ListOutcome> {
  const { text, tenantId, mode = DEFAULT_MODE, ...page } = asked;
  const named = parsePaymentId(text) ?? paymentOfPart(text) ?? paymentOfOrderId(tools.digest, text);
  if (named !== undefined) return only(tools, named, asked);
  if (tenantId === undefined) return byCharge(tools, asked);
  const owner = { tenantId, mode };
  const listed = async (filter: Parameters<typeof listPayments>[2]): Promise<ListOutcome> =>
    listPayments({ ...tools.search, books: [] }, owner, { byIndex: false, ...filter });
  // If no payment or order has this e-mail address, continue: a reference or a key can look like an e-mail address.
  const mailed = isEmail(text) ? await listed({ ...page, email: text }) : NONE;
  if (!isEmpty(mailed)) return mailed;
  const ordered = isEmail(text) ? await byOrderEmail(tools, owner, asked) : NONE;
  if (!isEmpty(ordered)) return ordered;
  const isFirstPage = page.after === undefined && page.before === undefined;
  const keyed = isFirstPage ? await byKey(tools, owner, asked) : NONE;
  if (!isEmpty(keyed)) return keyed;
  const exact = await listed({ ...page, reference: text });
  if (!isEmpty(exact)) return exact;
  const partly = await listed({ ...page, referencePart: text });
  return isEmpty(partly) && isFirstPage ? byCharge(tools, asked) : partly;
}

const NONE: FoundPayments = { kind: 'found', rows: [], hasMore: false };

/** Nothing to show, not even on a later page. */
function isEmpty(outcome: ListOutcome): boolean {
  return outcome.kind === 'found' && outcome.rows.length === 0 && !outcome.hasMore;
}

function paymentOfOrderId(digest: Digest, text: string): PaymentId | undefined {
  const orderId = parseOrderId(text);
  return orderId === undefined ? undefined : paymentOfOrder(digest, orderId);
}

async function only(
  { search }: Pick<FindPaymentsTools, 'search'>,
  paymentId: PaymentId,
  { tenantId, mode }: Pick<SearchedPayments, 'tenantId' | 'mode'>,
): Promise<FoundPayments> {
  const history = await search.store.readPayment(paymentId);
  if (history === undefined) return NONE;
  const { payment } = history.newest;
  if ((tenantId ?? payment.tenantId) !== payment.tenantId || (mode ?? payment.mode) !== payment.mode) return NONE;
  const body = JSON.stringify({ ...paymentObject(payment, detailsOf(history.first)), tenant: payment.tenantId });
  return { ...NONE, rows: [{ partition: '', sort: '', sequence: 0, body }] };
}

/** An erased order is not found. */
async function byOrderEmail(tools: FindPaymentsTools, owner: Owner, asked: SearchedPayments): Promise<FoundPayments> {
  const { text, after, before, limit } = asked;
  const { emailHashes, emailIndex } = tools.search;
  const list = { partitions: emailPartitions(EmailRow.order, await emailHashes.of(owner, text)) };
  const { rows } = await listPage(emailIndex, list, { limit: MAX_EXAMINED });
  const ids = rows.flatMap(({ chainId }) =>
    chainId === undefined ? [] : (paymentOfOrderId(tools.digest, chainId) ?? []),
  );
  const cursor = after ?? before;
  const place = cursor === undefined ? -1 : ids.findIndex((id) => id === cursor);
  if (cursor !== undefined && place === -1) return NONE;
  const inDirection = before === undefined ? ids.slice(place + 1) : ids.slice(0, place).toReversed();
  const taken = inDirection.slice(0, limit);
  const pages = await Promise.all(taken.map((id) => only(tools, id, owner)));
  const found = pages.flatMap((page) => page.rows);
  const hasMore = inDirection.length > taken.length;
  const next = hasMore ? taken.at(-1) : undefined;
  return { ...NONE, rows: before === undefined ? found : found.toReversed(), hasMore, ...defined({ next }) };
}

async function byKey(tools: FindPaymentsTools, owner: Owner, asked: SearchedPayments): Promise<FoundPayments> {
  const parsed = parseIdempotencyKey([asked.text]);
  if (parsed.kind !== 'key') return NONE;
  const scope = { ...owner, method: 'POST', key: parsed.key };
  const created = await only(tools, derivePaymentId(tools.digest, { ...scope, path: '/v1/payments' }), owner);
  if (!isEmpty(created)) return created;
  const orderId = deriveOrderId(tools.digest, { ...scope, path: '/v1/orders' });
  return only(tools, paymentOfOrder(tools.digest, orderId), owner);
}

/** @throws the fault of a processor that did not respond, if no other processor has the charge */
async function byCharge(
  tools: FindPaymentsTools,
  asked: Pick<SearchedPayments, 'text' | 'tenantId' | 'mode'>,
): Promise<FoundPayments> {
  const { text, mode } = asked;
  if (!CHARGE_ID.test(text)) return NONE;
  const books = tools.books.filter((each) => mode === undefined || each.mode === mode);
  const answers = await Promise.all(books.map((each) => chargeOrFault(each, text)));
  for (const answer of answers) {
    const found = answer?.paymentId === undefined ? NONE : await only(tools, answer.paymentId, asked);
    if (!isEmpty(found)) return found;
  }
  for (const answer of answers) if (answer?.fault !== undefined) throw answer.fault;
  return NONE;
}

async function chargeOrFault(
  books: ProcessorBooks,
  chargeId: string,
): Promise<{ readonly paymentId?: PaymentId; readonly fault?: Error } | undefined> {
  try {
    return await books.readCharge(chargeId, { timeoutMs: BOOKS_TIMEOUT_MS });
  } catch (error) {
    if (isFault(error)) return { fault: error };
    throw error;
  }
}
