import type { Account } from '../../payments/domain/posting.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import { parsePaymentId } from '../../payments/ids.ts';
import { readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import type { Owner } from '../../tenants/owners.ts';
import {
  type BooksOwner,
  byPosition,
  type EntryPosition,
  type EntryQuery,
  type LedgerEntry,
  type LedgerReader,
} from './ledger-reader.ts';

export interface ListEntriesTools {
  readonly ledger: LedgerReader;
  readonly store: Pick<PaymentStore, 'listTransitions'>;
}

export interface ListEntries {
  /** Payment id from the request, not yet validated. */
  readonly payment?: string;
  readonly account?: Account;
  readonly currency?: string;
  /** Inclusive. */
  readonly fromMs?: number;
  /** Exclusive. */
  readonly untilMs?: number;
  readonly after?: EntryPosition;
  readonly limit: number;
}

/** A payment of another tenant results in `not_found`, so that the response reveals nothing about the payment. */
export type ListEntriesOutcome =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'found'; readonly entries: readonly LedgerEntry[]; readonly hasMore: boolean };

/**
 * Oldest first.
 * @throws as {@link LedgerReader.entries}
 */
export async function listEntries(
  { ledger, store }: ListEntriesTools,
  caller: Owner,
  { payment, limit, ...rest }: ListEntries,
): Promise<ListEntriesOutcome> {
  const { tenantId, mode } = caller;
  const query = { tenantId, mode, ...rest, limit: limit + 1 };
  if (payment === undefined) return paged(await ledger.entries(query), limit);
  const paymentId = parsePaymentId(payment);
  const chain = paymentId === undefined ? undefined : await readChain(store, paymentId);
  const owner = chain?.first.payment;
  if (chain === undefined || owner?.tenantId !== tenantId || owner.mode !== mode) return { kind: 'not_found' };
  return paged(entriesOf(chain.transitions, query), limit);
}

export function entriesOf(
  transitions: readonly Transition[],
  { account, currency, fromMs = -Infinity, untilMs = Infinity, after, limit }: Omit<EntryQuery, keyof BooksOwner>,
): readonly LedgerEntry[] {
  return transitions
    .filter(({ occurredAtMs }) => occurredAtMs >= fromMs && occurredAtMs < untilMs)
    .flatMap(({ payment, sequence, type, occurredAtMs, postings }) =>
      postings.map((posting, leg) => ({ ...posting, paymentId: payment.id, sequence, type, occurredAtMs, leg })),
    )
    .filter((entry) => account === undefined || entry.account === account)
    .filter((entry) => currency === undefined || entry.currency === currency)
    .filter((entry) => after === undefined || byPosition(after, entry) < 0)
    .sort(byPosition)
    .slice(0, limit);
}

function paged(entries: readonly LedgerEntry[], limit: number): ListEntriesOutcome {
  return { kind: 'found', entries: entries.slice(0, limit), hasMore: entries.length > limit };
}
