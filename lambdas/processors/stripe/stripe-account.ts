import * as z from 'zod';
import { RetryableError } from '../../kernel/faults.ts';
import { type CallStripe, mustBeDone, type TimeLeft } from './stripe-api.ts';

const accountObject = z.object({ id: z.string().min(1), object: z.literal('account') });

/**
 * Verifies that the API key belongs to the configured account (Stripe API reference, "Retrieve account"). A search proves
 * that a charge is absent only in the account that charges are sent to; with another account's key it finds nothing. Both
 * modes of an account have the same id, so this does not detect a key of the other mode.
 *
 * @throws RetryableError `processor_account_other` if the key is another account's, or the fault of the call
 */
export async function assertConfiguredAccount(call: CallStripe, account: string, left: TimeLeft): Promise<void> {
  const options = { timeout: left() };
  const { id } = mustBeDone(await call((stripe) => stripe.accounts.retrieveCurrent({}, options), accountObject));
  if (id !== account)
    throw new RetryableError('processor_account_other', `The API key for Stripe belongs to account ${id}.`);
}
