import { mismatch } from '../answers.ts';
import { type CallStripe, requireSuccess, type TimeLeft } from './stripe-api.ts';
import { intentSearch } from './stripe-objects.ts';

/**
 * Normally, only one intent has the value in its metadata. If a search finds more than this maximum, an operator must
 * act.
 */
const SEARCH_LIMIT = 10;

/**
 * Finds the ids of the intents whose metadata has exactly this value, newest first. Filters the results, because
 * Stripe's search ignores case.
 */
export async function searchIntents(
  call: CallStripe,
  name: 'payment' | 'operation',
  value: string,
  left: TimeLeft,
): Promise<readonly string[]> {
  const options = { timeout: left() };
  const params = { query: `metadata['${name}']:'${value}'`, limit: SEARCH_LIMIT };
  const answer = await call((stripe) => stripe.paymentIntents.search(params, options), intentSearch);
  const { data, has_more } = requireSuccess(answer);
  if (has_more) throw mismatch(`More than ${SEARCH_LIMIT} intents have the same ${name} in their metadata.`);
  return data.filter(({ metadata }) => metadata[name] === value).map(({ id }) => id);
}
