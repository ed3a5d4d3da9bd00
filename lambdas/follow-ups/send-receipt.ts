import type { PaymentEvent } from '../events/domain/event.ts';
import { RECEIPT_SECONDS } from '../kernel/contract/timing.ts';
import type { Mode } from '../kernel/ids.ts';
import { invariant } from '../kernel/invariant.ts';
import { type Consumer, type ConsumeTools, consumeEvent, outside } from '../once/use/consume-event.ts';
import { type Consumed } from '../once/use/execute-once.ts';
import type { EmailOutcome, Mailer } from '../orders/use/order-parties.ts';
import { isReceiptDue } from '../orders/use/receipt-again.ts';
import { parsePaymentId } from '../payments/ids.ts';
import { readChain } from '../payments/use/payment-chain.ts';
import type { PaymentStore } from '../payments/use/payment-store.ts';
import { type PaidPayment, RECEIPT_TAG, type ReceiptAddress, receiptAddress, receiptEmail } from './receipt.ts';

export type PaidEvent = PaymentEvent & { readonly payment: PaidPayment };

type UnsentReceipt =
  | Extract<
      EmailOutcome['kind'] | ReceiptAddress['kind'],
      'refused' | 'capped' | 'needs_review' | 'given_up' | 'malformed'
    >
  | 'no_mailer';

export interface ReceiptTools extends ConsumeTools {
  readonly mailer: Mailer;
  /** Reads the payment before each attempt to send, because the event may be old. */
  readonly payments: Pick<PaymentStore, 'listTransitions'>;
  /**
   * With `test`, the mailer is the sandbox, which reaches no mailbox, so live-mode receipts are not sent. With `live`
   * or `none`, the receipts of both modes are sent.
   * @default all receipts are sent
   */
  readonly ordersOf?: Mode | 'none';
  /** Called for each due receipt that is not sent and not retried automatically. */
  readonly unsent: (payment: string, why: UnsentReceipt) => void;
}

/** The handler name of the consumer. It must never change, because the effect records contain it. */
export const RECEIPTS = 'receipts';

/** Timeout of the call to the mailer, in milliseconds. Less than the consumer's timeout of 30 s. */
const SEND_TIMEOUT_MS = RECEIPT_SECONDS * 1000;

/**
 * Sends the receipt of a payment once, if the payment's metadata requests a receipt. A receipt is not sent, but
 * recorded as done and reported, if the mailer refuses it, the recipient's limit is exceeded, the outcome cannot be
 * determined, the address is malformed, or the receipt belongs to live mode while the mailer is the sandbox. A receipt
 * that is no longer due is recorded as done. When a delayed message or a redrive tries again, `sendReceiptAgain`
 * repeats this check.
 *
 *   event   payment.completed ───────────────────── in the queue ── read: nothing is left ── not sent
 *   refund  ────────────────── all of the charge ✓
 *
 * @throws RetryableError, AmbiguousError, TerminalError from the mailer and the store: the event must be delivered
 * again
 */
export async function sendReceipt(tools: ReceiptTools, event: PaidEvent): Promise<Consumed> {
  const { kind } = receiptAddress(tools.digest, event.payment);
  // Most payments need no receipt, so no record is written for them.
  if (kind === 'not_asked_for' || kind === 'order_confirms') return { kind: 'done' };
  return consumeEvent<PaidEvent>(tools, receiptConsumer(tools), event);
}

function receiptConsumer({ digest, mailer, payments, ordersOf, unsent }: ReceiptTools): Consumer<PaidEvent> {
  return {
    handler: RECEIPTS,
    key: ({ payment }) => `receipt:${payment.id}`,
    handle: outside(async ({ tenant: tenantId, mode, occurredAtMs: dueAtMs, payment }, { operationId }) => {
      const address = receiptAddress(digest, payment);
      if (address.kind !== 'address') return unsent(payment.id, 'malformed');
      if (ordersOf === 'test' && mode === 'live') return unsent(payment.id, 'no_mailer');
      const paymentId = parsePaymentId(payment.id);
      const chain = paymentId === undefined ? undefined : await readChain(payments, paymentId);
      invariant(chain !== undefined, 'the Ledger has no chain for a completed payment');
      if (!isReceiptDue(chain)) return;
      const email = {
        operationId,
        paymentId: chain.state.payment.id,
        to: address.to,
        tag: RECEIPT_TAG,
        tenantId,
        mode,
        dueAtMs,
        ...receiptEmail(payment),
      };
      const { kind } = await mailer.send(email, { timeoutMs: SEND_TIMEOUT_MS });
      if (kind !== 'sent' && kind !== 'queued') unsent(payment.id, kind);
    }),
  };
}
