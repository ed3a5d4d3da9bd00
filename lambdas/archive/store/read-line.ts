import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as z from 'zod';
import type { Item } from '../../kernel/platform/items.ts';
import { fromStreamImage } from '../../kernel/platform/stream-images.ts';
import { type ArchiveLine, LINE_VERSION } from '../domain/archive-line.ts';

const image = z.record(z.string(), z.unknown());
const place = {
  v: z.literal(LINE_VERSION),
  at: z.iso.datetime().transform((text) => Date.parse(text)),
  sequence: z.string().regex(/^\d+$/).exactOptional(),
  event: z.string().exactOptional(),
};

const archivedLine = z.discriminatedUnion('change', [
  z.strictObject({ ...place, change: z.literal('INSERT'), item: image }),
  z.strictObject({ ...place, change: z.literal('MODIFY'), item: image, was: image }),
  z.strictObject({ ...place, change: z.literal('REMOVE'), was: image }),
]);

/** @throws SyntaxError for text that is not JSON; ZodError naming the invalid field */
export function readLine(text: string): ArchiveLine {
  const { v: _version, at: atMs, ...line } = archivedLine.parse(JSON.parse(text));
  return { ...line, atMs };
}

/** @throws when the image is not a valid item */
export function archivedItem(row: Readonly<Record<string, unknown>>): Item {
  return unmarshall(fromStreamImage(row) as Record<string, AttributeValue>);
}
