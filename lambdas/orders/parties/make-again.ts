import { TerminalError } from '../../kernel/faults.ts';
import type { CallLimit } from '../../kernel/world.ts';
import type { DeadLetter } from '../../outbound/use/dead-letters.ts';
import type { CallMadeAgain } from '../../outbound/use/redrive-dead-letters.ts';
import { parsePaymentId } from '../../payments/ids.ts';
import { STOCK_IN_DOUBT } from '../domain/order.ts';
import { parseOrderId } from '../ids.ts';
import { callForOrderAgain, type OrderRedriveTools } from '../use/call-for-order-again.ts';
import { recordFacts } from '../use/drive-order.ts';
import { readOrderChain } from '../use/order-chain.ts';
import type { GivenUpCall, ReferralProgram, StockKeeper } from '../use/order-parties.ts';
import { sendReceiptAgain } from '../use/receipt-again.ts';
import { NOTE_OPERATION, noteSchema } from './bigcommerce-note.ts';
import { ADJUST_OPERATION } from './bigcommerce-stock.ts';
import { EMAIL_OPERATION, emailOutcome } from './mailer.ts';
import { type EmailSender, emailSchema } from './postmark.ts';
import { CREDIT_OPERATION, creditOrderSchema } from './shop-referrals.ts';
import { RELEASE_OPERATION, releaseSchema } from './shop-stock.ts';

/** They throw when a call fails, so that no second dead letter is stored. */
export interface RedriveParties extends OrderRedriveTools {
  readonly emails: EmailSender;
  readonly referrals: ReferralProgram;
  readonly stock: StockKeeper;
}

/**
 * For a vendor without idempotency keys, the sending claim determines whether the vendor is searched first
 * (`sendOnce`): a request that may have been applied is looked up before it is resent. A receipt that is no longer due
 * is not sent, and a canceled order is not reported to the shop as paid. Adjustments of the inventory are not retried.
 *
 * @param id the dead letter's id, which the order's chain records as the cause
 * @throws the faults of the call; TerminalError `dead_letter_payload_unreadable`
 */
export async function makeAgain(
  parties: RedriveParties,
  deadLetter: DeadLetter,
  limit: CallLimit,
  id: string,
): Promise<CallMadeAgain> {
  const { emails, referrals, stock, clock } = parties;
  const cause = { by: 'run', runId: `redrive:${id}` } as const;
  switch (deadLetter.operation) {
    case EMAIL_OPERATION: {
      const email = payloadOf(deadLetter, emailSchema);
      const orderId = parseOrderId(email.metadata['order'] ?? '');
      const send = async () =>
        ended(emailOutcome(await emails.sendEmail(email, { deadlineMs: clock.nowMs() + limit.timeoutMs })));
      if (orderId !== undefined)
        return callForOrderAgain(parties, {
          orderId,
          cause,
          call: send,
          applied: 'email_sent',
          refused: 'email_refused',
        });
      // A receipt belongs to no order. In dead letters of earlier versions, its payment is unknown and is not checked.
      const paymentId = parsePaymentId(email.metadata['payment'] ?? '');
      return paymentId === undefined ? send() : sendReceiptAgain(parties, paymentId, send);
    }
    case CREDIT_OPERATION: {
      const credit = payloadOf(deadLetter, creditOrderSchema);
      const call = async () => ended(await referrals.credit(credit, limit));
      const { orderId } = credit;
      return callForOrderAgain(parties, { orderId, cause, call, applied: 'credited', refused: 'credit_refused' });
    }
    case RELEASE_OPERATION:
      await stock.release({ ...payloadOf(deadLetter, releaseSchema), items: [] }, limit);
      return { kind: 'applied' };
    case NOTE_OPERATION: {
      if (stock.note === undefined) return { kind: 'stays', reason: 'operation_unknown' };
      const note = payloadOf(deadLetter, noteSchema);
      const chain = await readOrderChain(parties.orders, note.orderId);
      if (note.orderStatus === 'paid' && chain?.order.failure !== undefined)
        return { kind: 'refused', reason: 'order_canceled' };
      await stock.note(note, limit);
      return { kind: 'applied' };
    }
    case ADJUST_OPERATION:
      // Leave the dead letter: only an operator can compare the adjustment with the inventory history.
      return { kind: 'stays', reason: STOCK_IN_DOUBT };
    default:
      return { kind: 'stays', reason: 'operation_unknown' };
  }
}

/** A later redrive records its own outcome. Only e-mails and credits are recorded. */
export async function recordGivenUp(parties: OrderRedriveTools, deadLetter: DeadLetter, id: string): Promise<void> {
  const orderId = parseOrderId(deadLetter.about ?? '');
  if (orderId === undefined) return;
  const cause = { by: 'run', runId: `redrive:${id}` } as const;
  const result = deadLetter.mayBeApplied ? 'unknown' : 'given_up';
  if (deadLetter.operation === EMAIL_OPERATION)
    await recordFacts(parties, orderId, [{ kind: `email_${result}` }], cause);
  if (deadLetter.operation === CREDIT_OPERATION)
    await recordFacts(parties, orderId, [{ kind: `credit_${result}` }], cause);
}

type Ended =
  | { readonly kind: 'sent' | 'credited' }
  | GivenUpCall
  | { readonly kind: 'refused'; readonly failure: { readonly code: string } }
  | { readonly kind: 'needs_review' | 'no_referral_program' };

function ended(outcome: Ended): CallMadeAgain {
  switch (outcome.kind) {
    case 'sent':
    case 'credited':
      return { kind: 'applied' };
    case 'refused':
      return { kind: 'refused', reason: outcome.failure.code };
    case 'no_referral_program':
      return { kind: 'refused', reason: outcome.kind };
    case 'needs_review':
    case 'queued':
      return { kind: 'stays', reason: outcome.kind };
    case 'given_up':
      return { kind: 'stays', reason: outcome.reason };
  }
}

/**
 * @throws TerminalError `dead_letter_payload_unreadable` if the payload does not match the schema, for example because
 * another version of the code wrote it
 */
function payloadOf<T>({ payload }: DeadLetter, schema: { safeParse: (value: unknown) => { data?: T } }): T {
  const { data } = schema.safeParse(payload);
  if (data !== undefined) return data;
  // No `cause`: the parser's error would quote the payload.
  throw new TerminalError(
    'dead_letter_payload_unreadable',
    'The payload of the dead letter does not match the schema of its operation.',
  );
}
