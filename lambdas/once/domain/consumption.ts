import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import type { EffectRecord } from './idempotency.ts';

/**
 * A call from a consumer to another system, in progress or failed. After the call has failed or the lease has expired,
 * the next delivery retries the call.
 */
export interface OpenConsumption {
  readonly status: 'pending' | 'failed';
  readonly operationId: OperationId;
  /** A fencing token. */
  readonly owner: OwnerToken;
  /** From 1. */
  readonly attempt: number;
  readonly claimedAtMs: number;
  readonly leaseExpiresAtMs: number;
}

/** The state of one event at one consumer. */
export type Consumption = OpenConsumption | { readonly status: 'completed'; readonly record: EffectRecord };

/** When an owner has crashed, its lease ends, and the next delivery takes over. */
export function isUnderWay(consumption: OpenConsumption, nowMs: number): boolean {
  return consumption.status === 'pending' && consumption.leaseExpiresAtMs > nowMs;
}
