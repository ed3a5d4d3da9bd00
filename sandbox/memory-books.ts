import type { SandboxEvent } from '../lambdas/kernel/contract/sandbox-api.ts';
import {
  type BookedCharge,
  type BookedEvent,
  type BookedOperation,
  type Books,
  byPlace,
  type ChangeBooks,
  type ChargeBooks,
  KEY_RETENTION_MS,
  NO_FAILURES,
  newParts,
  PAGE_SIZE,
  type TroubleBooks,
} from './books.ts';
import { createMemoryMailBooks } from './memory-mail-books.ts';
import { createMemoryShopBooks } from './memory-shop-books.ts';

/** Books in memory, for tests. Each method is one synchronous step, so it is as atomic as a transaction. */
export function createMemoryBooks(): Books {
  const shelf: Shelf = { charges: new Map(), events: new Map(), chargeOfPart: new Map() };
  return {
    ...chargeBooks(shelf),
    ...changeBooks(shelf),
    ...troubleBooks(),
    ...createMemoryShopBooks(),
    ...createMemoryMailBooks(),
  };
}

interface Shelf {
  readonly charges: Map<string, BookedCharge>;
  /** In the order of writing. */
  readonly events: Map<string, BookedEvent>;
  readonly chargeOfPart: Map<string, string>;
}

function bookEvents(shelf: Shelf, events: readonly SandboxEvent[]): void {
  for (const event of events) {
    shelf.events.set(event.id, { event, attempts: 0, delivered: false });
  }
}

function chargeBooks(shelf: Shelf): ChargeBooks {
  const claims = new Map<string, { chargeId: string; fingerprint: string; claimedAtMs: number }>();
  const idsOfKey = new Map<string, string[]>();

  const claimOf = (key: string, nowMs: number) => {
    const claim = claims.get(key);
    return claim !== undefined && claim.claimedAtMs > nowMs - KEY_RETENTION_MS ? claim : undefined;
  };
  const all = () => [...shelf.charges.values()].map(({ charge }) => charge);

  return {
    claimOf: async (key, nowMs) => claimOf(key, nowMs),
    add: async (charge, event, request, nowMs) => {
      if (request !== undefined) {
        if (claimOf(request.key, nowMs) !== undefined) {
          return 'key_taken';
        }
        claims.set(request.key, { chargeId: charge.id, fingerprint: request.fingerprint, claimedAtMs: nowMs });
        idsOfKey.set(request.key, [...(idsOfKey.get(request.key) ?? []), charge.id]);
      }
      shelf.charges.set(charge.id, { charge, version: 1 });
      bookEvents(shelf, [event]);
      return 'added';
    },
    charge: async (id) => shelf.charges.get(id),
    chargesOfKey: async (key) =>
      (idsOfKey.get(key) ?? []).map((id) => shelf.charges.get(id)?.charge).filter((charge) => charge !== undefined),
    chargesOfPayment: async (paymentId) => all().filter((charge) => charge.metadata['payment'] === paymentId),
    chargesOfPeriod: async ({ from, to }, after) => {
      const found = all()
        .filter(({ created }) => created >= from && created < to)
        .filter((charge) => after === undefined || byPlace(charge, after) > 0)
        .toSorted(byPlace);
      return { charges: found.slice(0, PAGE_SIZE), more: found.length > PAGE_SIZE };
    },
    chargeOfPart: async (id) => shelf.chargeOfPart.get(id),
  };
}

function changeBooks(shelf: Shelf): ChangeBooks {
  const operations = new Map<string, BookedOperation>();
  return {
    operation: async (chargeId, key) => operations.get(operationId(chargeId, key)),
    change: async (seen, { charge, events, operation }) => {
      const { id } = seen.charge;
      const known = operation && operations.get(operationId(id, operation.key));
      const taken =
        operation !== undefined && known !== undefined && known.appliedAtMs > operation.appliedAtMs - KEY_RETENTION_MS;
      if (taken || shelf.charges.get(id)?.version !== seen.version) {
        return 'conflict';
      }
      shelf.charges.set(id, { charge, version: seen.version + 1 });
      bookEvents(shelf, events);
      for (const part of newParts(seen.charge, charge)) {
        shelf.chargeOfPart.set(part.id, id);
      }
      if (operation !== undefined) {
        operations.set(operationId(id, operation.key), operation);
      }
      return 'changed';
    },
    event: async (id) => shelf.events.get(id),
    eventsOfCharge: async (chargeId) =>
      [...shelf.events.values()].filter(({ event }) => event.data.charge === chargeId),
    noteDelivery: async (eventId, sent, taken) => {
      const booked = shelf.events.get(eventId);
      if (booked !== undefined) {
        const { event, attempts, delivered } = booked;
        shelf.events.set(eventId, { event, attempts: attempts + sent, delivered: delivered || taken });
      }
    },
  };
}

function troubleBooks(): TroubleBooks {
  const sends = new Map<string, number>();
  const failures = { charges: NO_FAILURES, changes: NO_FAILURES };
  return {
    countSend: async (key) => {
      const count = (sends.get(key) ?? 0) + 1;
      sends.set(key, count);
      return count;
    },
    switchFailures: async (calls, switched) => {
      failures[calls] = switched;
    },
    switchedFailures: async (calls) => failures[calls],
    takeSwitchedFailure: async (calls) => {
      const { count, source } = failures[calls];
      if (count === 0) {
        return undefined;
      }
      failures[calls] = { source, count: count - 1 };
      return source;
    },
  };
}

/** Neither charge ids nor keys contain spaces. */
function operationId(chargeId: string, key: string): string {
  return `${chargeId} ${key}`;
}
