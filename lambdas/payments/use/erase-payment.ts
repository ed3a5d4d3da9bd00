import type { PaymentId } from '../../kernel/ids.ts';
import type { Payment, PaymentStatus } from '../domain/payment.ts';
import type { PaymentStore } from './payment-store.ts';

export interface ErasePaymentTools {
  readonly store: Pick<PaymentStore, 'readPayment'>;
  /** Deletes the details rows and records it in the activity log. @returns false when there are none */
  readonly erase: (payment: Pick<Payment, 'id' | 'tenantId' | 'mode'>) => Promise<boolean>;
}

/** In order of precedence. */
export type ErasePaymentOutcome =
  | { readonly kind: 'not_found' }
  /** The receipt and the commission of a later success need the metadata. */
  | { readonly kind: 'unfinished'; readonly status: PaymentStatus }
  /** The payment has no details, or they were erased before. */
  | { readonly kind: 'nothing_to_erase' }
  | { readonly kind: 'erased' };

const ENDED: ReadonlySet<PaymentStatus> = new Set(['succeeded', 'failed', 'canceled']);

/**
 * Erases the description, the metadata and all reasons of a payment that has ended. Its chain keeps the commitment and still verifies. To
 * erase again has no further effect.
 */
export async function erasePayment(
  { store, erase }: ErasePaymentTools,
  paymentId: PaymentId,
): Promise<ErasePaymentOutcome> {
  const history = await store.readPayment(paymentId);
  if (history === undefined) return { kind: 'not_found' };
  const { payment } = history.newest;
  const { status } = payment;
  if (!ENDED.has(status)) return { kind: 'unfinished', status };
  return { kind: (await erase(payment)) ? 'erased' : 'nothing_to_erase' };
}
