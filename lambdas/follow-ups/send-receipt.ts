import type { PayonceEvent } from '../events/domain/event.ts';
import { type Consumer, type ConsumeTools, consumeEvent, outside } from '../once/use/consume-event.ts';
import { type Consumed } from '../once/use/execute-once.ts';
import type { LetterOutcome, Mailer } from '../orders/use/order-parties.ts';
import { type PaidPayment, RECEIPT_TAG, type ReceiptAddress, receiptAddress, receiptLetter } from './receipt.ts';

/** A `payment.completed`. */
export type PaidEvent = PayonceEvent & { readonly payment: PaidPayment };

/** How a receipt ended that did not go out. */
type UnsentReceipt = Extract<LetterOutcome['kind'] | ReceiptAddress['kind'], 'refused' | 'needs_review' | 'malformed'>;

export interface ReceiptTools extends ConsumeTools {
  readonly mailer: Mailer;
  /** Hears of a receipt that is never tried again by itself. */
  readonly unsent: (payment: string, why: UnsentReceipt) => void;
}

/** The consumer's name, for ever: what was sent is remembered under it. */
export const RECEIPTS = 'receipts';

/** A message that was not acknowledged comes again after minutes, and a consumer ends after 30 s. Milliseconds. */
const SEND_TIMEOUT_MS = 20_000;

/**
 * Sends the receipt of a payment once, where its metadata ask for one. What the mailer refuses, what may have gone out and
 * nobody can tell, and an address that is none have ended: they are remembered as done, and told.
 *
 * @throws RetryableError, AmbiguousError or TerminalError, as the mailer and the store: the event must come again
 */
export async function sendReceipt(tools: ReceiptTools, event: PaidEvent): Promise<Consumed> {
  const { kind } = receiptAddress(tools.digest, event.payment);
  // Nothing is remembered of the many that ask for none.
  if (kind === 'not_asked_for' || kind === 'order_confirms') return { kind: 'done' };
  return consumeEvent<PaidEvent>(tools, receiptConsumer(tools), event);
}

function receiptConsumer({ digest, mailer, unsent }: ReceiptTools): Consumer<PaidEvent> {
  return {
    handler: RECEIPTS,
    key: ({ payment }) => `receipt:${payment.id}`,
    handle: outside(async ({ payment }, { operationId }) => {
      const address = receiptAddress(digest, payment);
      if (address.kind !== 'address') return unsent(payment.id, 'malformed');
      const letter = { operationId, to: address.to, tag: RECEIPT_TAG, ...receiptLetter(payment) };
      const { kind } = await mailer.send(letter, { timeoutMs: SEND_TIMEOUT_MS });
      if (kind !== 'sent') unsent(payment.id, kind);
    }),
  };
}
