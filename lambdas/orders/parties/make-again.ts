import { TerminalError } from '../../kernel/faults.ts';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import type { DeadLetter } from '../../outbound/use/dead-letters.ts';
import type { ReferralProgram, StockKeeper } from '../use/order-parties.ts';
import { EMAIL_OPERATION, emailOutcome } from './mailer.ts';
import { type EmailSender, emailSchema } from './postmark.ts';
import { CREDIT_OPERATION, creditOrderSchema } from './shop-referrals.ts';
import { RELEASE_OPERATION, releaseSchema } from './shop-stock.ts';

/** The parties of dead letters. A call that is given up again throws, so that no second dead letter is stored. */
export interface LetterParties {
  readonly emails: EmailSender;
  readonly referrals: ReferralProgram;
  readonly stock: StockKeeper;
  readonly clock: Pick<Clock, 'nowMs'>;
}

type MadeAgain =
  | { readonly kind: 'applied' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'stays'; readonly reason: string };

/**
 * Repeats the call of a dead letter under the key in its payload. For a vendor without idempotency keys, the sending claim
 * decides: a request that may have been applied is looked up before it is sent again (`sendOnce`).
 *
 * @throws RetryableError, AmbiguousError or TerminalError, as the call does
 */
export async function makeAgain(parties: LetterParties, letter: DeadLetter, limit: CallLimit): Promise<MadeAgain> {
  const { emails, referrals, stock, clock } = parties;
  switch (letter.operation) {
    case EMAIL_OPERATION: {
      const deadlineMs = clock.nowMs() + limit.timeoutMs;
      return ended(emailOutcome(await emails.sendEmail(payloadOf(letter, emailSchema), { deadlineMs })));
    }
    case CREDIT_OPERATION:
      return ended(await referrals.credit(payloadOf(letter, creditOrderSchema), limit));
    case RELEASE_OPERATION:
      await stock.release(payloadOf(letter, releaseSchema).reservationId, limit);
      return { kind: 'applied' };
    default:
      return { kind: 'stays', reason: 'operation_unknown' };
  }
}

type Ended =
  | { readonly kind: 'sent' | 'credited' }
  | { readonly kind: 'refused'; readonly failure: { readonly code: string } }
  | { readonly kind: 'needs_review' };

function ended(outcome: Ended): MadeAgain {
  switch (outcome.kind) {
    case 'sent':
    case 'credited':
      return { kind: 'applied' };
    case 'refused':
      return { kind: 'refused', reason: outcome.failure.code };
    case 'needs_review':
      return { kind: 'stays', reason: 'needs_review' };
  }
}

/** @throws TerminalError `letter_payload_unreadable` when another version of the code wrote the payload */
function payloadOf<T>({ payload }: DeadLetter, schema: { safeParse: (value: unknown) => { data?: T } }): T {
  const { data } = schema.safeParse(payload);
  if (data !== undefined) return data;
  // No `cause`, because it would quote the payload.
  throw new TerminalError('letter_payload_unreadable', 'The letter holds another payload than its operation needs.');
}
