import type { PaymentId } from '../../kernel/ids.ts';
import type { Payment, PaymentStatus } from '../domain/payment.ts';
import { detailsOf } from '../domain/transition.ts';
import type { PaymentStore } from './payment-store.ts';

export interface ErasePaymentTools {
  readonly store: Pick<PaymentStore, 'readPayment'>;
  /** Deletes the details row, if there is one, and records it in the activity log. */
  readonly erase: (payment: Pick<Payment, 'id' | 'tenantId' | 'mode'>) => Promise<unknown>;
}

/** In order of precedence. */
export type ErasePaymentOutcome =
  | { readonly kind: 'not_found' }
  /** The payment never had details. */
  | { readonly kind: 'nothing_to_erase' }
  /** The receipt and the commission of a later success need the metadata. */
  | { readonly kind: 'unfinished'; readonly status: PaymentStatus }
  | { readonly kind: 'erased' };

const ENDED: ReadonlySet<PaymentStatus> = new Set(['succeeded', 'failed', 'canceled']);

/**
 * Erases the description and the metadata of a payment that has ended. Its chain keeps the commitment and still verifies. To
 * erase again has no further effect.
 */
export async function erasePayment(
  { store, erase }: ErasePaymentTools,
  paymentId: PaymentId,
): Promise<ErasePaymentOutcome> {
  const history = await store.readPayment(paymentId);
  if (history === undefined) return { kind: 'not_found' };
  if (detailsOf(history.first).commitment === undefined) return { kind: 'nothing_to_erase' };
  const { payment } = history.newest;
  const { status } = payment;
  if (!ENDED.has(status)) return { kind: 'unfinished', status };
  await erase(payment);
  return { kind: 'erased' };
}
