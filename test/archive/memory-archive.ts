import { marshall } from '@aws-sdk/util-dynamodb';
import type { ArchiveLine } from '../../lambdas/archive/domain/archive-line.ts';
import { type ArchiveObject, archiveObject, LINES_PREFIX } from '../../lambdas/archive/domain/archive-object.ts';
import { readStreamLine } from '../../lambdas/archive/store/stream-lines.ts';
import type { ArchiveObjects } from '../../lambdas/archive/use/archive-lines.ts';
import type { StoredObjects } from '../../lambdas/archive/use/stored-objects.ts';
import { hex } from '../../lambdas/kernel/hash-chain.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Fields } from './verify-world.ts';

export const FIRST_SEQUENCE = 1000;

/** Objects are written once and never changed. */
export class MemoryArchive implements ArchiveObjects, StoredObjects {
  readonly objects = new Map<string, ArchiveObject>();
  readonly asked: string[] = [];

  async put(object: ArchiveObject): Promise<'written' | 'there'> {
    if (this.objects.has(object.name)) return 'there';
    this.objects.set(object.name, object);
    return 'written';
  }

  async names(prefix: string, after: string, most: number): Promise<readonly string[]> {
    this.asked.push(after);
    return [...this.objects.keys()]
      .sort()
      .filter((name) => name.startsWith(prefix) && name > after)
      .slice(0, most);
  }

  async text(name: string): Promise<string | undefined> {
    return this.objects.get(name)?.text;
  }

  get lines(): readonly string[] {
    const objects = [...this.objects.values()].filter(({ name }) => name.startsWith(LINES_PREFIX));
    return objects.flatMap(({ text }) => text.trimEnd().split('\n'));
  }

  async take(rows: readonly Fields[]): Promise<void> {
    await this.takeRecords(rows.map((row, index) => streamRecord(row, index)));
  }

  async takeRecords(records: readonly Fields[]): Promise<void> {
    const [first, ...others] = records.map(streamLine);
    if (first !== undefined) await this.put(archiveObject(systemDigest, [first, ...others]));
  }

  /** The key of the object matches the text. */
  async takeText(text: string): Promise<void> {
    const sha256 = systemDigest.sha256(text);
    await this.put({ name: `ledger/2026/11/23/14/1-${hex(sha256)}.ndjson`, text, sha256 });
  }
}

export async function archiveOfRows(rows: readonly Fields[], size: number): Promise<MemoryArchive> {
  const archive = new MemoryArchive();
  for (let begin = 0; begin < rows.length; begin += size) await archive.take(rows.slice(begin, begin + size));
  return archive;
}

/** Returns a record as Lambda delivers it, with bytes as base64 text and the row's time. */
export function streamRecord(row: Fields, index: number, change: { eventName?: string; was?: Fields } = {}): Fields {
  const { pk, sk, ...others } = marshall(row);
  const { eventName = 'INSERT', was } = change;
  const dynamodb = {
    SequenceNumber: String(FIRST_SEQUENCE + index),
    ApproximateCreationDateTime: Math.floor(Number(row['occurredAtMs'] ?? 0) / 1_000),
    Keys: { pk, sk },
    ...(eventName === 'REMOVE' ? {} : { NewImage: { pk, sk, ...others } }),
    ...(was === undefined ? {} : { OldImage: marshall(was) }),
  };
  return JSON.parse(
    JSON.stringify({ eventName, dynamodb }, (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
    ),
  ) as Fields;
}

export function streamLine(record: Fields): ArchiveLine {
  const read = readStreamLine(systemDigest, record);
  if (read.kind !== 'line') throw new Error(read.detail);
  return read.line;
}
