import type { Charge, SwitchedFailures } from '../contract/sandbox-api.ts';
import { type BookedCharge, type BookedOperation, type Books, KEY_RETENTION_MS, NO_FAILURES } from './books.ts';

/** Books in memory, for tests. Each method is one synchronous step, so it is as atomic as a transaction. */
export function createMemoryBooks(): Books {
  const charges = new Map<string, BookedCharge>();
  const claims = new Map<string, { chargeId: string; fingerprint: string; claimedAtMs: number }>();
  const idsOfKey = new Map<string, string[]>();
  const operations = new Map<string, BookedOperation>();
  const sends = new Map<string, number>();
  let failures: SwitchedFailures = NO_FAILURES;

  const claimOf = (key: string, nowMs: number) => {
    const claim = claims.get(key);
    return claim !== undefined && claim.claimedAtMs > nowMs - KEY_RETENTION_MS ? claim : undefined;
  };

  return {
    claimOf: async (key, nowMs) => claimOf(key, nowMs),
    add: async (charge, request, nowMs) => {
      if (request !== undefined) {
        if (claimOf(request.key, nowMs) !== undefined) {
          return 'key_taken';
        }
        claims.set(request.key, { chargeId: charge.id, fingerprint: request.fingerprint, claimedAtMs: nowMs });
        idsOfKey.set(request.key, [...(idsOfKey.get(request.key) ?? []), charge.id]);
      }
      charges.set(charge.id, { charge, version: 1 });
      return 'added';
    },
    charge: async (id) => charges.get(id),
    chargesOfKey: async (key) =>
      (idsOfKey.get(key) ?? []).map((id) => charges.get(id)?.charge).filter((charge) => charge !== undefined),
    chargesOfPayment: async (paymentId) =>
      [...charges.values()].map(({ charge }) => charge).filter((charge) => charge.metadata['payment'] === paymentId),
    operation: async (chargeId, key) => operations.get(operationId(chargeId, key)),
    change: async (seen, changed: Charge, operation) => {
      const id = seen.charge.id;
      const taken = operation !== undefined && operations.has(operationId(id, operation.key));
      if (taken || charges.get(id)?.version !== seen.version) {
        return 'conflict';
      }
      charges.set(id, { charge: changed, version: seen.version + 1 });
      if (operation !== undefined) {
        operations.set(operationId(id, operation.key), operation);
      }
      return 'changed';
    },
    countSend: async (key) => {
      const count = (sends.get(key) ?? 0) + 1;
      sends.set(key, count);
      return count;
    },
    switchFailures: async (switched) => {
      failures = switched;
    },
    switchedFailures: async () => failures,
    takeSwitchedFailure: async () => {
      if (failures.count === 0) {
        return undefined;
      }
      failures = { ...failures, count: failures.count - 1 };
      return failures.source;
    },
  };
}

/** Charge ids hold no blank and keys none either. */
function operationId(chargeId: string, key: string): string {
  return `${chargeId} ${key}`;
}
