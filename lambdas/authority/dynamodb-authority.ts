import type { Platform } from '../kernel/platform/system-platform.ts';
import type { StoreTables } from '../once/store/transact-items.ts';
import { checkedClient, checkFirstAuthority } from './store/first-authority.ts';

/** Returns the client of the stores of payments and orders. It refuses if the deployment began with PostgreSQL. */
export function dynamoDbAuthority(
  { documents: client, clock, entropy }: Pick<Platform, 'documents' | 'clock' | 'entropy'>,
  tables: StoreTables,
): { readonly client: Platform['documents'] } {
  const check = checkFirstAuthority({ client, tables, pacing: { clock, entropy } }, 'dynamodb');
  return { client: checkedClient(client, check) };
}
