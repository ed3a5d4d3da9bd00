import type { Owner } from '../../tenants/owners.ts';
import type { Payment } from '../domain/payment.ts';
import type { FirstDetails, Transition } from '../domain/transition.ts';
import { detailsOf } from '../domain/transition.ts';
import { parsePaymentId } from '../ids.ts';
import type { PaymentStore, TransitionPage } from './payment-store.ts';

/**
 * The same for a payment that does not exist and for a payment of another tenant or mode, so that callers cannot
 * distinguish the two.
 */
export type ReadPaymentOutcome =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'found'; readonly payment: Payment; readonly details: FirstDetails };

export type ListTransitionsOutcome =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'found'; readonly transitions: readonly Transition[]; readonly hasMore: boolean };

/** Strongly consistent. @throws RetryableError when the store is unavailable */
export async function readPayment(store: PaymentStore, caller: Owner, id: string): Promise<ReadPaymentOutcome> {
  const paymentId = parsePaymentId(id);
  const history = paymentId === undefined ? undefined : await store.readPayment(paymentId);
  if (history === undefined || !belongsTo(history.newest.payment, caller)) return { kind: 'not_found' };
  return { kind: 'found', payment: history.newest.payment, details: detailsOf(history.first) };
}

/** Oldest first. @throws RetryableError when the store is unavailable */
export async function listTransitions(
  store: PaymentStore,
  caller: Owner,
  id: string,
  page: TransitionPage,
): Promise<ListTransitionsOutcome> {
  const owned = await readPayment(store, caller, id);
  if (owned.kind === 'not_found') return owned;
  const found = await store.listTransitions(owned.payment.id, { ...page, limit: page.limit + 1 });
  return { kind: 'found', transitions: found.slice(0, page.limit), hasMore: found.length > page.limit };
}

export function belongsTo(payment: Payment, { tenantId, mode }: Owner): boolean {
  return payment.tenantId === tenantId && payment.mode === mode;
}
