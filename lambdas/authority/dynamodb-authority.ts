import type { Platform } from '../kernel/platform/system-platform.ts';
import type { StoreTables } from '../once/store/transact-items.ts';
import { checkAuthority, checkedClient } from './store/authority-state.ts';

/** The client's commands fail if PostgreSQL is the system of record. */
export function dynamoDbAuthority(
  { documents: client, clock, entropy }: Pick<Platform, 'documents' | 'clock' | 'entropy'>,
  tables: StoreTables,
): { readonly client: Platform['documents'] } {
  const check = checkAuthority({ client, tables, pacing: { clock, entropy } }, 'dynamodb');
  return { client: checkedClient(client, check) };
}
