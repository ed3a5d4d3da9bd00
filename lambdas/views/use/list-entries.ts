import { parsePaymentId } from '../../kernel/ids.ts';
import type { Account } from '../../payments/domain/posting.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import type { EntryPosition, LedgerEntry, LedgerReader } from './ledger-reader.ts';

export interface ListEntriesTools {
  readonly ledger: LedgerReader;
  readonly effects: Pick<PaymentStore, 'listTransitions'>;
}

export interface ListEntries {
  /** As the client gave it. */
  readonly payment?: string;
  readonly account?: Account;
  /** Unix milliseconds, inclusive. */
  readonly fromMs?: number;
  /** Unix milliseconds, exclusive. */
  readonly untilMs?: number;
  readonly after?: EntryPosition;
  readonly limit: number;
}

/** What is not the caller's does not exist: one outcome, so that nothing is learnt about it. */
export type ListEntriesOutcome =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'found'; readonly entries: readonly LedgerEntry[]; readonly hasMore: boolean };

/** A page of the caller's entries, oldest first. @throws as {@link LedgerReader.entries} */
export async function listEntries(
  { ledger, effects }: ListEntriesTools,
  caller: Caller,
  { payment, limit, ...rest }: ListEntries,
): Promise<ListEntriesOutcome> {
  const { tenantId, mode } = caller;
  const query = { tenantId, mode, ...rest, limit: limit + 1 };
  if (payment === undefined) return paged(await ledger.entries(query), limit);
  const paymentId = parsePaymentId(payment);
  const [first] =
    paymentId === undefined ? [] : await effects.listTransitions(paymentId, { afterSequence: 0, limit: 1 });
  if (first === undefined || first.payment.tenantId !== tenantId || first.payment.mode !== mode) {
    return { kind: 'not_found' };
  }
  return paged(await ledger.entries({ ...query, paymentId: first.payment.id }), limit);
}

/** One more than asked for tells whether there are more. */
function paged(entries: readonly LedgerEntry[], limit: number): ListEntriesOutcome {
  return { kind: 'found', entries: entries.slice(0, limit), hasMore: entries.length > limit };
}
