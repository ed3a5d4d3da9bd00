import { defined } from '../../kernel/defined.ts';
import type { Clock } from '../../kernel/world.ts';
import type { DeadLettered, OnGivenUp } from '../../outbound/outbound-calls.ts';
import type { SendOutcome } from '../../outbound/send-once.ts';
import type { EmailCounts, EmailOutcome, GivenUpCall, Mailer, OrderEmail } from '../use/order-parties.ts';
import type { Email, EmailSender } from './postmark.ts';

/** The operation in this adapter's dead letters. The payload is the e-mail. */
export const EMAIL_OPERATION = 'email.send';

/** The placeholder for the message id of an e-mail that was not sent. */
const NOT_SENT = 'test_mode';

interface MailerOptions {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly counts: EmailCounts;
  readonly capped: (email: OrderEmail) => void;
  readonly givenUp?: OnGivenUp;
  readonly isSandbox?: boolean;
}

/**
 * The operation id is the message id, so a retried call does not send the e-mail again. Only the sandbox sends
 * test-mode e-mails. Any other mailer reports them as sent, but sends nothing, because a test API key must not send
 * e-mails to strangers from the operator's address. An e-mail is counted before it is sent. An e-mail beyond its
 * recipient's limit is not sent, retried or dead-lettered.
 *
 * @param isSandbox whether the sandbox sends the e-mails @default false: the sender reaches real mailboxes
 */
export function createMailer(
  sender: EmailSender,
  { clock, counts, capped, givenUp = 'throw', isSandbox = false }: MailerOptions,
): Mailer {
  return {
    send: async (email, { timeoutMs }) => {
      if (email.mode === 'test' && !isSandbox) return { kind: 'sent', messageId: NOT_SENT };
      if (!(await counts.admit(email))) {
        capped(email);
        return { kind: 'capped' };
      }
      const deadlineMs = clock.nowMs() + timeoutMs;
      return emailOutcome(await sender.sendEmail(emailOf(email), { deadlineMs, givenUp }));
    },
  };
}

export function emailOutcome(outcome: SendOutcome): Exclude<EmailOutcome, { kind: 'capped' }> {
  switch (outcome.kind) {
    case 'sent':
      return { kind: 'sent', messageId: outcome.vendorId };
    case 'refused':
    case 'needs_review':
      return outcome;
    case 'delayed':
    case 'dead_lettered':
      return givenUpCall(outcome);
  }
}

export function givenUpCall({ kind, reason, mayBeApplied }: DeadLettered): GivenUpCall {
  return kind === 'delayed' ? { kind: 'queued' } : { kind: 'given_up', reason, mayBeApplied };
}

/** A redrive needs the id of the order or payment in the metadata. */
function emailOf({ operationId, orderId, paymentId, to, subject, text, tag }: OrderEmail): Email {
  const metadata = {
    ...defined({ order: orderId, payment: paymentId }),
  };
  return { messageId: operationId, to, subject, text, tag, metadata };
}
