import * as z from 'zod';
import { eventId } from '../../events/domain/event.ts';
import { LedgerRow, SortKey } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { parseOrderId } from '../../orders/ids.ts';
import { parsePaymentId } from '../../payments/ids.ts';
import type { ArchiveLine } from '../domain/archive-line.ts';

const image = z.record(z.string(), z.unknown());
const key = z.object({ S: z.string() });

/** The row is archived unchanged, without being parsed. */
const streamRecord = z.object({
  eventName: z.enum(['INSERT', 'MODIFY', 'REMOVE']),
  dynamodb: z.object({
    SequenceNumber: z.string().regex(/^\d+$/),
    /** Unix seconds. */
    ApproximateCreationDateTime: z.number(),
    Keys: z.object({ [KeyAttribute.partition]: key, [KeyAttribute.sort]: key }),
    NewImage: image.optional(),
    OldImage: image.optional(),
  }),
});

type Reading =
  | { readonly kind: 'line'; readonly line: ArchiveLine }
  | { readonly kind: 'unreadable'; readonly whole: string; readonly detail: string };

/** Never throws. */
export function readStreamLine(digest: Digest, record: unknown): Reading {
  const parsed = streamRecord.safeParse(record);
  const line = parsed.success ? lineOf(digest, parsed.data) : undefined;
  if (line !== undefined) return { kind: 'line', line };
  const [issue] = parsed.error?.issues ?? [];
  const detail = issue === undefined ? 'dynamodb: an image is missing' : `${issue.path.join('.')}: ${issue.message}`;
  return { kind: 'unreadable', whole: JSON.stringify(record), detail };
}

function lineOf(digest: Digest, { eventName, dynamodb }: z.infer<typeof streamRecord>): ArchiveLine | undefined {
  const { NewImage: item, OldImage: was, Keys: keys } = dynamodb;
  const event = eventOf(digest, keys[KeyAttribute.partition].S, keys[KeyAttribute.sort].S);
  const place = {
    sequence: dynamodb.SequenceNumber,
    atMs: Math.floor(dynamodb.ApproximateCreationDateTime) * 1_000,
    ...defined({ event }),
  };
  if (eventName === 'INSERT') return item && { ...place, change: eventName, item };
  if (was === undefined) return undefined;
  if (eventName === 'MODIFY') return item && { ...place, change: eventName, item, was };
  return { ...place, change: eventName, was };
}

/** The id of the transition's event, even if the event is never published. */
function eventOf(digest: Digest, partition: string, sort: string): string | undefined {
  const sequence = Number(withoutPrefix(sort, SortKey.transition));
  const id =
    parsePaymentId(withoutPrefix(partition, LedgerRow.payment)) ??
    parseOrderId(withoutPrefix(partition, LedgerRow.order));
  return id === undefined || !Number.isInteger(sequence) || sequence < 1 ? undefined : eventId(digest, id, sequence);
}

function withoutPrefix(text: string, prefix: string): string {
  return text.startsWith(prefix) ? text.slice(prefix.length) : '';
}
