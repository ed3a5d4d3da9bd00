import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import type { EffectRecord } from './idempotency.ts';

/** A consumer's call to something outside that has begun, or that failed: the next delivery may try again. */
export interface OpenConsumption {
  readonly status: 'pending' | 'failed';
  readonly operationId: OperationId;
  /** Who began it: a fencing token. */
  readonly owner: OwnerToken;
  /** 1 for the first. */
  readonly attempt: number;
  readonly claimedAtMs: number;
  readonly leaseExpiresAtMs: number;
}

/** What is kept of one event at one consumer. */
export type Consumption = OpenConsumption | { readonly status: 'completed'; readonly record: EffectRecord };

/** Whether somebody may be at it: a crashed owner's lease ends, and the next delivery takes over. */
export function isUnderWay(consumption: OpenConsumption, nowMs: number): boolean {
  return consumption.status === 'pending' && consumption.leaseExpiresAtMs > nowMs;
}
