import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { toStreamImage } from '../../kernel/platform/stream-images.ts';
import type { ReadRow } from '../use/ledger-rows.ts';

/** Maximum size of a batch, in characters. Lambda accepts requests of at most 6 MB, and a row takes a few kilobytes. */
const LARGEST = 4_000_000;

/** Converts Ledger rows to Stream records, in batches for invocations of the archiver. */
export function lateRecords(rows: readonly ReadRow[]): readonly (readonly unknown[])[] {
  const batches: unknown[][] = [];
  let left = 0;
  for (const { row, item } of rows) {
    const NewImage = toStreamImage(item);
    const { [KeyAttribute.partition]: partition, [KeyAttribute.sort]: sort } = NewImage;
    const { content } = row;
    const writtenMs = content.kind === 'link' ? content.occurredAtMs : 0;
    const dynamodb = {
      // Placeholder. The archiver omits the sequence number of these records, which is no longer known.
      SequenceNumber: '0',
      ApproximateCreationDateTime: Math.floor(writtenMs / 1_000),
      Keys: { [KeyAttribute.partition]: partition, [KeyAttribute.sort]: sort },
      NewImage,
    };
    const record = { eventName: 'INSERT', dynamodb };
    const { length } = JSON.stringify(record);
    if (length > left || batches.length === 0) {
      batches.push([]);
      left = LARGEST;
    }
    batches.at(-1)?.push(record);
    left -= length;
  }
  return batches;
}
