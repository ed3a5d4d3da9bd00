import type { OperationId } from '../../kernel/ids.ts';
import type { Consumption, OpenConsumption } from '../domain/consumption.ts';
import type { EffectRecord } from '../domain/idempotency.ts';

/** A row of a table that consumers may write. */
export interface RowKey {
  readonly table: 'views' | 'registry';
  readonly partition: string;
  readonly sort: string;
}

export type RowValue =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | readonly RowValue[]
  | { readonly [name: string]: RowValue };

/** What must hold for a write to be made. */
export type RowCondition =
  | { readonly kind: 'absent' }
  /** There is no such row, or its number of that name is less than `than`; with `of`, only where it is a row of that too. */
  | {
      readonly kind: 'older';
      readonly attribute: string;
      readonly than: number;
      readonly of?: { readonly attribute: string; readonly value: string };
    }
  | { readonly kind: 'equals'; readonly attribute: string; readonly value: string | number };

interface ConditionalWrite {
  readonly row: RowKey;
  /** @default the write is made whatever is there */
  readonly when?: RowCondition;
  /**
   * What a condition that does not hold means: that the write has become pointless, and is left out; that all of the event's
   * writes have; or that the handler must look again.
   *
   * @default again
   */
  readonly otherwise?: 'skip' | 'skip_all' | 'again';
}

/** A write that commits together with the record that says it was made. */
export type ConsumerWrite =
  | (ConditionalWrite & { readonly kind: 'put'; readonly attributes: Readonly<Record<string, RowValue>> })
  | (ConditionalWrite & { readonly kind: 'delete' });

/** Beside the record itself; a transaction of DynamoDB holds a hundred items. */
export const MAX_CONSUMER_WRITES = 99;

/** In order of precedence. */
export type RecordOutcome =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'recorded_before' }
  /** Nothing was written; by their places in `writes`, those whose condition does not hold. */
  | { readonly kind: 'refused'; readonly writes: readonly number[] };

/** For effects in our own tables: record and effect in one transaction. */
export interface ConsumerEffects {
  readEffect(operationId: OperationId): Promise<EffectRecord | undefined>;
  /** The one durable write. */
  recordOnce(record: EffectRecord, writes: readonly ConsumerWrite[]): Promise<RecordOutcome>;
}

/** For effects outside: pending, then completed or failed; each write is fenced by its owner. */
export interface ConsumerClaims {
  /**
   * Begins, or takes over from `replaces` if that is still what is there.
   *
   * @returns what stood in the way, when something did
   */
  claim(
    pending: OpenConsumption,
    replaces?: OpenConsumption,
  ): Promise<{ readonly kind: 'claimed' } | { readonly kind: 'refused'; readonly found: Consumption | undefined }>;
  /** Only while `record.owner` still holds it. @returns false when it does not */
  complete(record: EffectRecord): Promise<boolean>;
  /** Lets the next delivery in at once; does nothing when the claim is no longer the owner's. */
  fail(pending: OpenConsumption): Promise<void>;
}
