import type { Credit, Reservation } from '../lambdas/kernel/contract/shop-api.ts';
import { byPlace, type EntryBooks, type EntryClaim, type ShopBooks } from './books.ts';

/** Books in memory, for tests. */
export function createMemoryShopBooks(): ShopBooks {
  return { stock: entryBooks<Reservation>(), credits: entryBooks<Credit>() };
}

function entryBooks<E extends Reservation | Credit>(): EntryBooks<E> {
  const entries = new Map<string, E>();
  const claims = new Map<string, EntryClaim>();
  return {
    claimOf: async (key) => claims.get(key),
    add: async (entry, request) => {
      if (request !== undefined) {
        if (claims.has(request.key)) {
          return 'key_taken';
        }
        claims.set(request.key, { entryId: entry.id, fingerprint: request.fingerprint });
      }
      entries.set(entry.id, entry);
      return 'added';
    },
    entry: async (id) => entries.get(id),
    replace: async (entry) => {
      entries.set(entry.id, entry);
    },
    entriesOfOrder: async (order) => [...entries.values()].filter((entry) => entry.order === order).toSorted(byPlace),
  };
}
