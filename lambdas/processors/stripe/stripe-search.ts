import { mismatch } from '../answers.ts';
import { type CallStripe, mustBeDone, type TimeLeft } from './stripe-api.ts';
import { intentSearch } from './stripe-objects.ts';

/** Two are a finding; more are counted no better. */
const SEARCH_LIMIT = 10;

/** The ids of the intents whose metadata has this value, newest first; the search itself ignores case. */
export async function searchIntents(
  call: CallStripe,
  name: 'payment' | 'operation',
  value: string,
  left: TimeLeft,
): Promise<readonly string[]> {
  const options = { timeout: left() };
  const params = { query: `metadata['${name}']:'${value}'`, limit: SEARCH_LIMIT };
  const answer = await call((stripe) => stripe.paymentIntents.search(params, options), intentSearch);
  const { data, has_more } = mustBeDone(answer);
  if (has_more) throw mismatch(`more than ${SEARCH_LIMIT} intents carry one name`);
  return data.filter(({ metadata }) => metadata[name] === value).map(({ id }) => id);
}
