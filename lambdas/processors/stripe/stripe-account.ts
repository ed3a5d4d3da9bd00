import * as z from 'zod';
import { RetryableError } from '../../kernel/faults.ts';
import { type CallStripe, mustBeDone, type TimeLeft } from './stripe-api.ts';

const accountObject = z.object({ id: z.string().min(1), object: z.literal('account') });

/**
 * What is not in these books proves nothing unless they are the books that were written to: a key that was rotated to
 * another account's finds nothing at all. (Stripe API reference, "Retrieve account".) The two modes of one account have
 * the same id, so a key of the other mode is not told apart here.
 *
 * @throws RetryableError `processor_account_other` when the key is another account's; or the fault that keeps it from being known
 */
export async function mustBeOurAccount(call: CallStripe, account: string, left: TimeLeft): Promise<void> {
  const options = { timeout: left() };
  const { id } = mustBeDone(await call((stripe) => stripe.accounts.retrieveCurrent({}, options), accountObject));
  if (id !== account) throw new RetryableError('processor_account_other', `The key for Stripe is of ${id}.`);
}
