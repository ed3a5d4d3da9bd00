import type { Owner } from '../../tenants/owners.ts';
import type { Payment } from '../domain/payment.ts';
import type { BooksIdentity, ProcessorCharge } from '../domain/processor-charge.ts';
import { parsePaymentId } from '../ids.ts';
import type { PaymentStore } from './payment-store.ts';
import { booksOf, type KnownProcessors, pinnedBooks } from './pinned-processor.ts';
import { BOOKS_TIMEOUT_MS, type ProcessorBooks } from './processor.ts';
import { belongsTo } from './read-payment.ts';

export interface ReadChargesTools extends KnownProcessors {
  readonly store: Pick<PaymentStore, 'readPayment'>;
  readonly books: readonly ProcessorBooks[];
}

/** `not_called` if this deployment no longer uses the payment's processor. */
export type ReadChargesOutcome =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_called'; readonly books: BooksIdentity }
  | { readonly kind: 'found'; readonly payment: Payment; readonly charges: readonly ProcessorCharge[] };

/** @throws the errors of `ProcessorBooks` and of the store */
export async function readCharges(tools: ReadChargesTools, caller: Owner, id: string): Promise<ReadChargesOutcome> {
  const paymentId = parsePaymentId(id);
  const history = paymentId === undefined ? undefined : await tools.store.readPayment(paymentId);
  if (history === undefined || !belongsTo(history.newest.payment, caller)) return { kind: 'not_found' };
  const { payment } = history.newest;
  const books = pinnedBooks(tools, history.first);
  if (books === undefined) return { kind: 'not_called', books: booksOf(history.first) };
  const charges = await books.chargesOfPayment(payment.id, { timeoutMs: BOOKS_TIMEOUT_MS });
  return { kind: 'found', payment, charges: charges.toSorted((a, b) => a.createdAtSeconds - b.createdAtSeconds) };
}
