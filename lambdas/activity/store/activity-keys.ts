import { LedgerRow, SortKey } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import type { Item } from '../../kernel/platform/items.ts';

/** Sequences are padded, so that text order is numeric order. */
const SEQUENCE_DIGITS = 9;
export const BEYOND_ALL = 10 ** SEQUENCE_DIGITS - 1;

export function activitySort(sequence: number): string {
  return `${SortKey.activity}${String(sequence).padStart(SEQUENCE_DIGITS, '0')}`;
}

export function activityPartition(chain: string): string {
  return `${LedgerRow.activity}${chain}`;
}

export function activityKey(chain: string, sequence: number): Item {
  return { [KeyAttribute.partition]: activityPartition(chain), [KeyAttribute.sort]: activitySort(sequence) };
}
