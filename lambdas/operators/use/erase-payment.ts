import type { PaymentId } from '../../kernel/ids.ts';
import type { Payment, PaymentStatus } from '../../payments/domain/payment.ts';
import { readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import type { ProcessedEvents } from '../../payments/use/transition-reader.ts';

export interface ErasePaymentTools {
  readonly store: Pick<PaymentStore, 'listTransitions'>;
  readonly processed: ProcessedEvents;
  /** @returns false when there are no details rows */
  readonly erase: (payment: Pick<Payment, 'id' | 'tenantId' | 'mode'>) => Promise<boolean>;
}

/** In order of precedence. */
export type ErasePaymentOutcome =
  | { readonly kind: 'not_found' }
  /** The payment may still succeed. After a success, its receipt and commission need the metadata. */
  | { readonly kind: 'unfinished'; readonly status: PaymentStatus }
  /** The event `payment.completed` has not been published yet. The receipt and commission need the metadata in it. */
  | { readonly kind: 'unpublished' }
  /** The payment has no details, or they were already erased. */
  | { readonly kind: 'nothing_to_erase' }
  | { readonly kind: 'erased' };

/** A failed or canceled payment can no longer become `succeeded`. */
const ENDED: ReadonlySet<PaymentStatus> = new Set(['succeeded', 'failed', 'canceled']);

/**
 * Erases the description, the metadata, the return URL and all reasons of a payment. The payment must have ended, and
 * the event of its success, if any, must have been published. The payment's chain keeps the commitments and can still
 * be verified. Repeating the erasure has no further effect.
 *
 *   relay    ───── reads the details ── publishes `payment.completed` with the metadata ──
 *   erasure  ✗ unpublished ─────────────────────────────────────────────────── ✓ published: consumers have a copy
 */
export async function erasePayment(
  { store, processed, erase }: ErasePaymentTools,
  paymentId: PaymentId,
): Promise<ErasePaymentOutcome> {
  const chain = await readChain(store, paymentId);
  if (chain === undefined) return { kind: 'not_found' };
  const { payment } = chain.state;
  const { status } = payment;
  if (!ENDED.has(status)) return { kind: 'unfinished', status };
  const completed = chain.transitions.filter(({ type }) => type === 'payment.completed');
  const unprocessed = await processed.unprocessed(completed.map(({ sequence }) => ({ paymentId, sequence })));
  if (unprocessed.length > 0) return { kind: 'unpublished' };
  return { kind: (await erase(payment)) ? 'erased' : 'nothing_to_erase' };
}
