import { RetryableError } from '../../kernel/faults.ts';
import type { Mode, PaymentId } from '../../kernel/ids.ts';
import type { CallMadeAgain } from '../../outbound/use/redrive-dead-letters.ts';
import { moneyOf } from '../../payments/domain/charge-money.ts';
import { detailsOf } from '../../payments/domain/transition.ts';
import { type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';

/**
 * A receipt is due while the merchant has a part of the money that is neither disputed nor being refunded. A partial
 * refund does not matter, because the receipt is about the charge.
 */
export function isReceiptDue({ first, state }: Pick<PaymentChain, 'first' | 'state'>): boolean {
  const { chargeId } = state.payment;
  const money = chargeId === undefined ? undefined : moneyOf(chargeId, state);
  return money !== undefined && money.leftMinor > 0 && detailsOf(first).detailsErased === undefined;
}

/**
 * The receipt has been in a queue for at most two weeks. If a real mailer has replaced the sandbox in the meantime, a
 * test-mode receipt is refused. While the sandbox is the only mailer, a live-mode receipt stays in the queue.
 *
 * @param ordersOf `live` if the mailer reaches real mailboxes, `test` if it is the sandbox
 */
export async function sendReceiptAgain(
  { store, ordersOf }: { readonly store: Pick<PaymentStore, 'listTransitions'>; readonly ordersOf?: Mode | 'none' },
  paymentId: PaymentId,
  send: () => Promise<CallMadeAgain>,
): Promise<CallMadeAgain> {
  let chain: PaymentChain | undefined;
  try {
    chain = await readChain(store, paymentId);
  } catch (error) {
    if (error instanceof RetryableError) return { kind: 'stays', reason: 'payment_unavailable', isUnmade: true };
    throw error;
  }
  if (chain === undefined) return { kind: 'stays', reason: 'payment_unknown', isUnmade: true };
  const { mode } = chain.state.payment;
  if (ordersOf === 'live' && mode === 'test') return { kind: 'refused', reason: 'receipt_of_test_mode' };
  if (ordersOf === 'test' && mode === 'live') return { kind: 'stays', reason: 'parties_elsewhere', isUnmade: true };
  return isReceiptDue(chain) ? send() : { kind: 'refused', reason: 'receipt_not_due' };
}
