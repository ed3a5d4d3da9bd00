import { type AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import { LedgerRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import { fromStreamImage } from '../../kernel/platform/stream-images.ts';
import { isOrderOutcome } from '../../orders/domain/order.ts';
import { parseOrderTransition } from '../../orders/store/order-items.ts';
import { isOutcome } from '../../payments/domain/payment.ts';
import { parseTransition } from '../../payments/store/items.ts';
import type { StreamRecord } from '../use/ledger-stream.ts';

/** A Stream record as Lambda delivers it: JSON, with bytes as base64. */
const streamRecord = z.object({
  eventName: z.string(),
  dynamodb: z.object({
    SequenceNumber: z.string(),
    Keys: z.record(z.string(), z.object({ S: z.string() })).optional(),
    NewImage: z.record(z.string(), z.unknown()).optional(),
  }),
});

const position = z.object({ dynamodb: z.object({ SequenceNumber: z.string() }) });

/** Never throws. */
export function readStreamRecord(record: unknown): StreamRecord {
  return {
    // The position is empty if the sequence number cannot be read. Lambda then redelivers the whole batch.
    position: position.safeParse(record).data?.dynamodb.SequenceNumber ?? '',
    whole: JSON.stringify(record),
    content: contentOf(record),
  };
}

function contentOf(record: unknown): StreamRecord['content'] {
  try {
    const { eventName, dynamodb } = streamRecord.parse(record);
    // The Ledger is append-only, so only insertions are valid.
    if (eventName !== 'INSERT') return { kind: 'tampered', how: eventName, row: nameOf(dynamodb.Keys) };
    if (dynamodb.NewImage === undefined) return { kind: 'unreadable', detail: 'dynamodb.NewImage: is missing' };
    const partition = dynamodb.Keys?.[KeyAttribute.partition]?.S ?? '';
    if (partition.startsWith(LedgerRow.activity)) return { kind: 'no_event' };
    const item = unmarshall(fromStreamImage(dynamodb.NewImage) as Record<string, AttributeValue>);
    const trace: unknown = item['trace'];
    const traced = typeof trace === 'string' ? { trace } : {};
    if (partition.startsWith(LedgerRow.order)) {
      const step = parseOrderTransition(item);
      return isOrderOutcome(step.type) ? { kind: 'transition', transition: step, ...traced } : { kind: 'no_event' };
    }
    const transition = parseTransition(item);
    return isOutcome(transition.type) ? { kind: 'transition', transition, ...traced } : { kind: 'no_event' };
  } catch (error) {
    return { kind: 'unreadable', detail: textOf(error) };
  }
}

function nameOf(keys: Readonly<Record<string, { readonly S: string }>> = {}): string {
  return [KeyAttribute.partition, KeyAttribute.sort].map((name) => keys[name]?.S ?? '?').join(' ');
}

/** Omits the value of the invalid field, which may be sensitive. */
function textOf(error: unknown): string {
  if (!(error instanceof z.ZodError)) return error instanceof Error ? error.name : 'unknown';
  const [issue] = error.issues;
  return `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`;
}
