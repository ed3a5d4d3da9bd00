import type { OperationId } from '../../kernel/ids.ts';
import type { Consumption, OpenConsumption } from '../domain/consumption.ts';
import type { EffectRecord } from '../domain/idempotency.ts';

export interface RowKey {
  readonly table: 'views' | 'registry';
  readonly partition: string;
  readonly sort: string;
}

type RowValue =
  | string
  | number
  | boolean
  | null
  | Uint8Array
  | readonly RowValue[]
  | { readonly [name: string]: RowValue };

export type RowCondition =
  | { readonly kind: 'absent' }
  /**
   * True if the row is absent, or its numeric attribute `attribute` is less than `than`. If `of` is given, an existing
   * row must also have the value `of.value` in the attribute `of.attribute`.
   */
  | {
      readonly kind: 'older';
      readonly attribute: string;
      readonly than: number;
      readonly of?: { readonly attribute: string; readonly value: string };
    }
  | { readonly kind: 'equals'; readonly attribute: string; readonly value: string | number };

interface ConditionalWrite {
  readonly row: RowKey;
  /** @default the write is unconditional */
  readonly when?: RowCondition;
  /**
   * Reaction to a false condition: `skip` omits this write, `skip_all` omits all writes of the event, and `again` calls
   * the handler again.
   *
   * @default again
   */
  readonly otherwise?: 'skip' | 'skip_all' | 'again';
}

export type ConsumerWrite =
  | (ConditionalWrite & { readonly kind: 'put'; readonly attributes: Readonly<Record<string, RowValue>> })
  | (ConditionalWrite & { readonly kind: 'delete' });

/** A DynamoDB transaction has at most 100 items, and one of them is the record. */
export const MAX_CONSUMER_WRITES = 99;

/** In order of precedence. */
export type RecordOutcome =
  | { readonly kind: 'recorded' }
  | { readonly kind: 'recorded_before' }
  /** Nothing was written. `writes` contains the indexes of the writes whose condition is false. */
  | { readonly kind: 'refused'; readonly writes: readonly number[] };

export interface ConsumerEffects {
  readEffect(operationId: OperationId): Promise<EffectRecord | undefined>;
  /** Writes the record and the effect in one transaction. */
  recordOnce(record: EffectRecord, writes: readonly ConsumerWrite[]): Promise<RecordOutcome>;
}

/** A record is pending, then completed or failed. Each write after the first is fenced by the owner token. */
export interface ConsumerClaims {
  /**
   * If `replaces` is given, the claim replaces that record, but only if the record is unchanged.
   *
   * @returns the existing record when the claim was refused
   */
  claim(
    pending: OpenConsumption,
    replaces?: OpenConsumption,
  ): Promise<{ readonly kind: 'claimed' } | { readonly kind: 'refused'; readonly found: Consumption | undefined }>;
  /** @returns false when another owner holds or completed the claim */
  complete(record: EffectRecord): Promise<boolean>;
  /**
   * Marks the call as failed, so that the next delivery begins immediately. Does nothing when another owner holds the
   * claim.
   */
  fail(pending: OpenConsumption): Promise<void>;
}
