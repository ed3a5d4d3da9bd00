import type { OperationId } from '../../kernel/ids.ts';

/**
 * The newest keyed requests that changed an object, stored in its row. When the record of a request has expired, a late
 * retry of the request is still recognized and has no second effect.
 */
export type KeyedCalls = readonly string[];

/**
 * Number of requests that are kept. Retries arrive within seconds of their request. Only a retry after weeks, and after
 * this many further requests, is not recognized.
 */
const CALLS_KEPT = 8;
/** Number of characters of an operation id that are stored: 80 bits. */
const LETTERS_KEPT = 16;

/**
 * Adds a request.
 *
 * @param calls @default no requests yet
 */
export function withCall(calls: KeyedCalls | undefined, operationId: OperationId): KeyedCalls {
  return [short(operationId), ...(calls ?? [])].slice(0, CALLS_KEPT);
}

export function hasCall(calls: KeyedCalls | undefined, operationId: OperationId): boolean {
  return calls?.includes(short(operationId)) === true;
}

function short(operationId: OperationId): string {
  return operationId.slice(-LETTERS_KEPT);
}
