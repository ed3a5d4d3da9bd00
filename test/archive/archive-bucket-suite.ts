import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { archiveObject, LATE_PREFIX, LINES_PREFIX } from '../../lambdas/archive/domain/archive-object.ts';
import { NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { archivedLines } from '../../lambdas/archive/store/archived-lines.ts';
import { StoredManifests } from '../../lambdas/archive/store/stored-manifests.ts';
import { type ArchiveObjects, archiveLines } from '../../lambdas/archive/use/archive-lines.ts';
import type { StoredObjects } from '../../lambdas/archive/use/stored-objects.ts';
import { verifyManifests } from '../../lambdas/archive/use/verify-manifests.ts';
import { verifyRows } from '../../lambdas/archive/use/verify-rows.ts';
import { writeManifests } from '../../lambdas/archive/use/write-manifests.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { streamLine, streamRecord } from './memory-archive.ts';
import { type Fields, ledgerOf, rowFiles, someLedger } from './verify-world.ts';

type Bucket = ArchiveObjects & StoredObjects;

const HOUR_MS = 60 * 60_000;

class Killed extends Error {}

function killedAt(bucket: Bucket, call: number, isAfter: boolean): ArchiveObjects {
  let calls = 0;
  return {
    put: async (object) => {
      calls += 1;
      if (calls !== call) return bucket.put(object);
      if (isAfter) await bucket.put(object);
      throw new Killed();
    },
  };
}

export function describeArchiveBucket(name: string, make: () => Promise<Bucket>): void {
  let bucket: Bucket;
  let ledger: readonly Fields[] = [];
  let nowMs = 0;
  beforeAll(async () => {
    ledger = await someLedger();
    nowMs = Math.max(...ledger.map(({ occurredAtMs }) => Number(occurredAtMs)));
  });
  beforeEach(async () => {
    bucket = await make();
  });

  const lines = () => ledger.map((row, index) => streamLine(streamRecord(row, index)));
  const objectOf = (index: number, lateAtMs?: number) => {
    const line = lines()[index];
    if (line === undefined) throw new Error('there are no rows');
    return archiveObject(systemDigest, [line], lateAtMs);
  };
  const archive = (objects: ArchiveObjects, begin: number, end: number, all = lines()) => {
    const clock = new SimulatedClock(nowMs);
    const tools = { objects, digest: systemDigest, clock, entropy: { fraction: () => 0.5 }, report: () => {} };
    return archiveLines(tools, all.slice(begin, end), nowMs);
  };
  const findings = async () => {
    const parts = rowFiles();
    const tools = { archive: archivedLines(bucket), ledger: ledgerOf(ledger), parts, save: () => undefined };
    const { findings: found } = await verifyRows(tools, { bounds: NO_BOUNDS });
    parts.close();
    return found;
  };

  describe(`the ${name} archive bucket`, () => {
    test('stores an object once and keeps its first content', async () => {
      const object = objectOf(0);
      expect(await bucket.put(object)).toBe('written');
      expect(await bucket.put(object)).toBe('there');
      const forged = 'é\n';
      const sha256 = systemDigest.sha256(forged);
      expect(await bucket.put({ name: object.name, text: forged, sha256 })).toBe('there');
      expect(await bucket.text(object.name)).toBe(object.text);
      expect(await bucket.text(`${object.name}x`)).toBeUndefined();
      const other = { name: `${LINES_PREFIX}of-bytes`, text: forged, sha256 };
      await bucket.put(other);
      expect(await bucket.text(other.name)).toBe(forged);
    });

    test('accepts exactly one of many concurrent writes to one key', async () => {
      const ends = await Promise.all([1, 2, 3, 4].map(() => bucket.put(objectOf(1))));
      expect(ends.filter((end) => end === 'written')).toHaveLength(1);
    });

    test('lists keys with a prefix in ascending order, after a given key and up to a limit', async () => {
      const objects = [objectOf(2), objectOf(0), objectOf(0, nowMs), objectOf(1)];
      for (const object of objects) await bucket.put(object);
      await bucket.put({ ...objectOf(3), name: 'manifests/00000001.json' });
      const names = objects.map((object) => object.name).sort();
      expect(await bucket.names(LINES_PREFIX, '', 10)).toEqual(names);
      expect(await bucket.names(LINES_PREFIX, LINES_PREFIX, 2)).toEqual(names.slice(0, 2));
      expect(await bucket.names(LINES_PREFIX, names[1] ?? '', 10)).toEqual(names.slice(2));
      expect(names.at(-1)).toContain(LATE_PREFIX);
      expect(await bucket.names('manifests/', 'manifests/00000001.json', 10)).toEqual([]);
    });

    test.each([
      [1, false],
      [1, true],
      [2, false],
      [2, true],
    ])(
      'contains every row byte for byte despite redeliveries, split batches and crashes at any write (write %d, after it took effect: %s)',
      async (call, isAfter) => {
        // Every second row is late, so each batch takes two writes.
        const mixed = lines().map((line, index) =>
          index % 2 === 0 ? line : { ...line, atMs: line.atMs + 2 * HOUR_MS },
        );
        const all = ledger.length;
        const parts = [0, Math.ceil(all / 3), Math.ceil((2 * all) / 3), all];
        for (const [index, end] of parts.slice(1).entries()) {
          const begin = parts[index] ?? 0;
          await expect(archive(killedAt(bucket, call, isAfter), begin, end, mixed)).rejects.toThrow(Killed);
          // Lambda splits the batch; the archiver crashes again on the first half and receives the second half twice.
          const middle = Math.ceil((begin + end) / 2);
          await expect(archive(killedAt(bucket, call, isAfter), begin, middle, mixed)).rejects.toThrow(Killed);
          await archive(bucket, begin, middle, mixed);
          for (let time = 0; time < 2; time += 1) await archive(bucket, middle, end, mixed);
        }
        expect(await findings()).toEqual([]);
      },
    );

    test('stores one manifest, which lists every object of an hour, when two writers run concurrently', async () => {
      await archive(bucket, 0, 4);
      await archive(bucket, 4, ledger.length);
      const clock = new SimulatedClock(nowMs + 60_000);
      const manifests = new StoredManifests(bucket);
      const write = () => writeManifests({ manifests, digest: systemDigest, clock }, clock.nowMs() + 1);
      const written = await Promise.all([write(), write()]);
      expect(written.flat()).toHaveLength(1);
      const verified = await verifyManifests({ manifests, digest: systemDigest }, NO_BOUNDS, clock.nowMs());
      expect(verified).toEqual({ manifests: 1, objects: 2, findings: [] });
    });
  });
}
