import { TerminalError } from '../../kernel/faults.ts';
import type { Clock } from '../../kernel/world.ts';
import type { GivenUp } from '../../outbound/outbound-calls.ts';
import type { SendOutcome } from '../../outbound/send-once.ts';
import type { EmailOutcome, Mailer, OrderEmail } from '../use/order-parties.ts';
import type { Email, EmailSender } from './postmark.ts';

/** The operation of this adapter's dead letters. The payload is the e-mail. */
export const EMAIL_OPERATION = 'email.send';

/** Stands for the message id of an e-mail that was not sent. */
const NOT_SENT = 'test_mode';

/**
 * Sends e-mails. The operation id is the message id, so repeated calls send an e-mail once. E-mails of test mode are sent by the
 * sandbox only: a test key must not write to strangers from the operator's address.
 *
 * @param isSandbox @default false: the sender reaches real mailboxes
 */
export function createMailer(
  sender: EmailSender,
  {
    clock,
    givenUp = 'throw',
    isSandbox = false,
  }: { readonly clock: Pick<Clock, 'nowMs'>; readonly givenUp?: GivenUp; readonly isSandbox?: boolean },
): Mailer {
  return {
    send: async (email, { timeoutMs }) => {
      if (!email.livemode && !isSandbox) return { kind: 'sent', messageId: NOT_SENT };
      const deadlineMs = clock.nowMs() + timeoutMs;
      return emailOutcome(await sender.sendEmail(emailOf(email), { deadlineMs, givenUp }));
    },
  };
}

export function emailOutcome(outcome: SendOutcome): EmailOutcome {
  switch (outcome.kind) {
    case 'sent':
      return { kind: 'sent', messageId: outcome.vendorId };
    case 'refused':
    case 'needs_review':
      return outcome;
    case 'dead_lettered':
      throw new TerminalError(outcome.reason, 'The e-mail is kept as a dead letter.');
  }
}

/** The order is in the metadata, where a redrive of the dead letter finds it. */
function emailOf({ operationId, orderId, to, subject, text, tag }: OrderEmail): Email {
  const metadata = orderId === undefined ? {} : { order: orderId };
  return { messageId: operationId, to, subject, text, tag, metadata };
}
