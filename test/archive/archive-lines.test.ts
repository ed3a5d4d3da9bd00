import { beforeAll, describe, expect, test } from '@jest/globals';
import { type ArchiveLine, lineText } from '../../lambdas/archive/domain/archive-line.ts';
import { archiveObject, hourPath, LATE_PREFIX, LINES_NAME } from '../../lambdas/archive/domain/archive-object.ts';
import { archivedItem, readLine } from '../../lambdas/archive/store/read-line.ts';
import { readStreamLine } from '../../lambdas/archive/store/stream-lines.ts';
import { archiveLines } from '../../lambdas/archive/use/archive-lines.ts';
import { parseEventId } from '../../lambdas/events/domain/event.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { hex } from '../../lambdas/kernel/hash-chain.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryArchive, streamLine, streamRecord } from './memory-archive.ts';
import { type Fields, someLedger } from './verify-world.ts';

const AT_SECONDS = Date.UTC(2026, 10, 23, 14, 59, 58) / 1_000;

/** The time of the record is `index` seconds after `AT_SECONDS`. */
function recordOf(item: Fields, index = 1, change: Fields = {}): Fields {
  const record = streamRecord(item, index);
  const time = { ApproximateCreationDateTime: AT_SECONDS + index };
  const dynamodb = { ...(record['dynamodb'] as Fields), ...time, ...(change['dynamodb'] as Fields) };
  return { ...record, ...change, dynamodb };
}

function lineOf(record: Fields): ArchiveLine {
  const read = readStreamLine(systemDigest, record);
  if (read.kind !== 'line') throw new Error(read.detail);
  return read.line;
}

let ledger: readonly Fields[] = [];
beforeAll(async () => {
  ledger = await someLedger();
});

describe('a line of the archive', () => {
  test('contains every attribute of every kind of row, and the event id of a transition', () => {
    const kinds = new Set(ledger.map(({ pk }) => String(pk).slice(0, 4)));
    expect([...kinds].sort()).toEqual(['ACT#', 'ORD#', 'PAY#']);
    for (const [index, row] of ledger.entries()) {
      const line = readLine(lineText(systemDigest, lineOf(recordOf(row, index))));
      expect(line).toMatchObject({ change: 'INSERT', sequence: String(1000 + index) });
      expect(archivedItem('item' in line ? line.item : {})).toEqual(row);
      const place = line.event === undefined ? undefined : parseEventId(line.event);
      if (String(row['pk']).startsWith('ACT#')) expect(place).toBeUndefined();
      else expect(place?.sequence).toBe(Number(String(row['sk']).slice(2)));
    }
  });

  test('does not depend on the attribute order of its row', () => {
    const [row = {}] = ledger;
    const turned = Object.fromEntries(Object.entries(row).toReversed());
    expect(lineText(systemDigest, lineOf(recordOf(turned)))).toBe(lineText(systemDigest, lineOf(recordOf(row))));
  });

  test('contains no personal text; such text is stored only outside the Ledger', async () => {
    const text = ledger.map((row) => lineText(systemDigest, lineOf(recordOf(row)))).join('\n');
    expect(text).not.toContain('Returned');
    expect(text).not.toContain('@');
  });

  test.each(['MODIFY', 'REMOVE'])('contains the previous row for a %s record', (eventName) => {
    const [row = {}] = ledger;
    const { NewImage } = recordOf(row)['dynamodb'] as Fields;
    const record = recordOf(row, 1, { eventName, dynamodb: { OldImage: NewImage } });
    const line = readLine(lineText(systemDigest, lineOf(record)));
    expect(line).toMatchObject({ change: eventName, was: NewImage });
    const without = readStreamLine(systemDigest, recordOf(row, 1, { eventName }));
    expect(without).toMatchObject({ kind: 'unreadable', detail: 'dynamodb: an image is missing' });
  });

  test.each([
    ['no position', { dynamodb: { SequenceNumber: '' } }, 'dynamodb.SequenceNumber'],
    ['no time', { dynamodb: { ApproximateCreationDateTime: 'noon' } }, 'dynamodb.ApproximateCreationDateTime'],
    ['no key', { dynamodb: { Keys: {} } }, 'dynamodb.Keys.pk'],
    ['an unknown change', { eventName: 'UPSERT' }, 'eventName'],
  ])('is not written for a record with %s; the whole record is stored instead', (_name, change, path) => {
    const [row = {}] = ledger;
    const record = recordOf(row, 1, change);
    const read = readStreamLine(systemDigest, record);
    expect(read).toMatchObject({ kind: 'unreadable', whole: JSON.stringify(record) });
    expect(read.kind === 'unreadable' && read.detail).toContain(path);
  });

  test.each([
    ['another version', (line: Fields) => ({ ...line, v: 2 })],
    ['a further field', (line: Fields) => ({ ...line, note: 'x' })],
    ['no image', ({ item: _item, ...line }: Fields) => line],
  ])('is rejected by a reader if it has %s', (_name, changed) => {
    const [row = {}] = ledger;
    const text = lineText(systemDigest, lineOf(recordOf(row)));
    expect(() => readLine(JSON.stringify(changed(JSON.parse(text) as Fields)))).toThrow();
    expect(() => readLine(text.slice(0, -1))).toThrow(SyntaxError);
  });
});

describe('an archive object', () => {
  test('has a key made of the hour of its oldest row, its first sequence number and its content hash', () => {
    const lines = ledger.map((row, index) => lineOf(recordOf(row, index)));
    const [first, ...others] = lines;
    if (first === undefined) throw new Error('there are no rows');
    const object = archiveObject(systemDigest, [first, ...others]);
    expect(LINES_NAME.exec(object.name)?.groups).toEqual({
      hour: '2026/11/23/14',
      first: '1000',
      sha256: hex(systemDigest.sha256(object.text)),
    });
    expect(object.text.endsWith('\n')).toBe(true);
    expect(object.text.trimEnd().split('\n')).toHaveLength(ledger.length);
  });
});

class Archiver {
  readonly archive = new MemoryArchive();
  readonly clock = new SimulatedClock();
  readonly reported: unknown[] = [];
  trouble: (() => Error | undefined) | undefined;
  /** If true, a failing call writes the object before it fails. */
  lost = false;

  /** `ages` maps each row to the delay between its time and its copy to the Ledger, in milliseconds. */
  async copy(ages: ReadonlyMap<Fields, number>) {
    const lines = [...ages].map(([row, ageMs], index) => {
      const line = streamLine(streamRecord(row, index));
      return { ...line, atMs: line.atMs + ageMs };
    });
    return archiveLines({ ...this.#tools(), objects: this.archive }, lines, this.clock.nowMs());
  }

  async take(rows: readonly Fields[], waitsMs = 0) {
    const objects = {
      put: async (object: Parameters<MemoryArchive['put']>[0]) => {
        const error = this.trouble?.();
        if (error === undefined || this.lost) await this.archive.put(object);
        if (error !== undefined) throw error;
        return 'written' as const;
      },
    };
    const lines = rows.map((row) => lineOf(recordOf(row, ledger.indexOf(row))));
    return archiveLines({ ...this.#tools(), objects }, lines, this.clock.nowMs() + waitsMs);
  }

  #tools() {
    const entropy = { fraction: () => 0.5 };
    const report = (error: unknown) => void this.reported.push(error);
    return { digest: systemDigest, clock: this.clock, entropy, report };
  }
}

describe('the archiver', () => {
  test('writes one object for a batch, however often the batch is delivered', async () => {
    const archiver = new Archiver();
    await archiver.take(ledger);
    await archiver.take(ledger);
    expect(archiver.archive.objects.size).toBe(1);
    expect(archiver.archive.lines).toHaveLength(ledger.length);
  });

  test('archives each row with the same text in every object, even if a batch is delivered again in parts', async () => {
    const archiver = new Archiver();
    await archiver.take(ledger);
    await archiver.take(ledger.slice(0, 3));
    await archiver.take(ledger.slice(3));
    expect(archiver.archive.lines).toHaveLength(2 * ledger.length);
    expect(new Set(archiver.archive.lines).size).toBe(ledger.length);
  });

  test('retries within one delivery until an unavailable archive recovers', async () => {
    const archiver = new Archiver();
    const backMs = archiver.clock.nowMs() + 60_000;
    archiver.trouble = () =>
      archiver.clock.nowMs() < backMs ? new RetryableError('archive_busy', 'the archive is busy') : undefined;
    await archiver.take(ledger, 540_000);
    expect(archiver.archive.objects.size).toBe(1);
    expect(archiver.reported.length).toBeGreaterThan(3);
  });

  test('fails a batch if the archive’s responses are lost, and writes no second object at the next delivery', async () => {
    const archiver = new Archiver();
    archiver.lost = true;
    archiver.trouble = () => new AmbiguousError('archive_ambiguous', 'the archive gave no answer');
    await expect(archiver.take(ledger, 30_000)).rejects.toThrow('the archive gave no answer');
    archiver.trouble = undefined;
    await archiver.take(ledger);
    expect(archiver.archive.objects.size).toBe(1);
  });

  test('fails immediately, without waiting, when the archive refuses the object', async () => {
    const archiver = new Archiver();
    const begunMs = archiver.clock.nowMs();
    archiver.trouble = () => new TerminalError('archive_refused', 'the archive refused an object: AccessDenied');
    await expect(archiver.take(ledger, 540_000)).rejects.toThrow('AccessDenied');
    expect(archiver.clock.nowMs()).toBe(begunMs);
  });

  test('writes late rows (copied to the Ledger more than an hour after their time) to a separate object, which is the same at each delivery', async () => {
    const archiver = new Archiver();
    const [one = {}, two = {}, three = {}] = ledger;
    const batch = new Map([
      [one, 61 * 60_000],
      [two, 59 * 60_000],
      [three, 50 * 60 * 60_000],
    ]);
    const written = await archiver.copy(batch);
    expect(written.map(({ name }) => name.startsWith(LATE_PREFIX))).toEqual([false, true]);
    expect(written.map(({ text }) => text.trimEnd().split('\n').length)).toEqual([1, 2]);
    const oldest = streamLine(streamRecord(one, 0)).atMs + 61 * 60_000;
    expect(written[1]?.name.startsWith(`${LATE_PREFIX}${hourPath(oldest)}/1000-`)).toBe(true);
    archiver.clock.advance(3 * 60 * 60_000);
    await archiver.copy(batch);
    expect(archiver.archive.objects.size).toBe(2);
  });

  test('writes nothing for a batch without lines', async () => {
    const archiver = new Archiver();
    expect(await archiver.take([])).toEqual([]);
    expect(archiver.archive.objects.size).toBe(0);
  });
});
