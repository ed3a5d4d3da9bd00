import type { OperationId } from '../../kernel/ids.ts';

/**
 * The operation ids of the latest requests with an idempotency key that changed an object, stored in the object's row.
 * They identify a retry even after the record of the original request has expired, so that the retry has no second
 * effect.
 */
export type KeyedCalls = readonly string[];

/**
 * Retries usually arrive within seconds. A retry goes unrecognized only if it arrives weeks later, after this many
 * other requests.
 */
const CALLS_KEPT = 8;
/** Number of characters of an operation id that are stored (80 bits). */
const LETTERS_KEPT = 16;

export function withCall(calls: KeyedCalls | undefined, operationId: OperationId): KeyedCalls {
  return [short(operationId), ...(calls ?? [])].slice(0, CALLS_KEPT);
}

export function hasCall(calls: KeyedCalls | undefined, operationId: OperationId): boolean {
  return calls?.includes(short(operationId)) === true;
}

function short(operationId: OperationId): string {
  return operationId.slice(-LETTERS_KEPT);
}
