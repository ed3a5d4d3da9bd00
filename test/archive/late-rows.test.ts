import { beforeAll, describe, expect, test } from '@jest/globals';
import { archiveObject, LATE_PREFIX } from '../../lambdas/archive/domain/archive-object.ts';
import { type Bounds, NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { archivedLines } from '../../lambdas/archive/store/archived-lines.ts';
import { lateRecords } from '../../lambdas/archive/store/late-records.ts';
import { StoredManifests } from '../../lambdas/archive/store/stored-manifests.ts';
import { boundsOfBatch, missingRows } from '../../lambdas/archive/use/missing-rows.ts';
import { verifyManifests } from '../../lambdas/archive/use/verify-manifests.ts';
import { verifyRows } from '../../lambdas/archive/use/verify-rows.ts';
import { writeManifests } from '../../lambdas/archive/use/write-manifests.ts';
import { parkedWork } from '../../lambdas/events/store/parked-work.ts';
import type { wire as Wire } from '../../lambdas/functions/archiver.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryArchive, streamLine, streamRecord } from './memory-archive.ts';
import { memoryS3 } from './memory-s3.ts';
import { type Fields, keyOf, ledgerOf, rowFiles, someLedger } from './verify-world.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const VARIABLES = { [Environment.archiveBucket]: 'archive', [Environment.parkingQueueUrl]: 'https://sqs.invalid/p' };
/** The module reads its environment when it is loaded. */
let wire: typeof Wire;
let ledger: readonly Fields[] = [];
beforeAll(async () => {
  Object.assign(process.env, { AWS_REGION: 'eu-west-1', ...VARIABLES });
  ({ wire } = await import('../../lambdas/functions/archiver.ts'));
  ledger = await someLedger();
});
const timeOf = ({ occurredAtMs }: Fields): number => Number(occurredAtMs);

/** The archive has hourly manifests and lacks some rows of the Ledger. */
class Behind {
  readonly archive = new MemoryArchive();
  readonly clock = new SimulatedClock(Math.max(...ledger.map(timeOf)) + HOUR_MS / 2);
  readonly manifests = new StoredManifests(this.archive);
  #archiver: ReturnType<typeof wire> | undefined;

  static async lacking(missing: readonly Fields[]): Promise<Behind> {
    const behind = new Behind();
    await behind.archive.take(ledger.filter((row) => !missing.includes(row)));
    await behind.list();
    return behind;
  }

  async hours(count: number): Promise<void> {
    for (let hour = 0; hour < count; hour += 1) {
      this.clock.advance(HOUR_MS);
      await this.list();
    }
  }

  /** Each object is one hour older than the previous one. */
  async arrive(rows: readonly Fields[]): Promise<void> {
    for (const [index, row] of rows.entries()) {
      const line = { ...streamLine(streamRecord(row, index)), atMs: this.clock.nowMs() - index * HOUR_MS };
      await this.archive.put(archiveObject(systemDigest, [line]));
    }
  }

  list(change: { readonly most?: number } = {}) {
    const tools = { manifests: this.manifests, digest: systemDigest, clock: this.clock, ...change };
    return writeManifests(tools, this.clock.nowMs() + HOUR_MS / 2);
  }

  missing(rows = ledger, bounds = { fromMs: 0, untilMs: this.clock.nowMs() }) {
    const tools = { archive: archivedLines(this.archive), ledger: ledgerOf(rows), parts: () => rowFiles() };
    return missingRows(tools, bounds, this.clock.nowMs());
  }

  /** The batch was written to the Ledger at `writtenMs`, and parked. */
  async missingOf(writtenMs: number, isCopied: boolean): Promise<readonly string[]> {
    const at = new Date(writtenMs).toISOString();
    const batch = { approximateArrivalOfFirstRecord: at, approximateArrivalOfLastRecord: at };
    const work = parkedWork(JSON.stringify({ DDBStreamBatchInfo: batch }));
    if (work.kind !== 'range') throw new Error('the message describes no range');
    const tools = { manifests: this.manifests, digest: systemDigest };
    const { rows } = await this.missing(ledger, await boundsOfBatch(tools, work, isCopied));
    return rows.map(({ item }) => keyOf(item));
  }

  /** Works as `payonce redrive` does, and returns the keys of the new objects. */
  async putBack(rows = ledger): Promise<readonly string[]> {
    const before = new Set(this.archive.objects.keys());
    this.#archiver ??= wire(
      {
        clock: this.clock,
        entropy: { fraction: () => 0.5 },
        digest: systemDigest,
        variables: VARIABLES,
        instruments: {
          logger: () => ({ info: () => {}, warn: () => {}, error: () => {} }),
          metrics: () => ({ addMetric: () => {}, publishStoredMetrics: () => {} }),
        },
        s3: () => memoryS3(this.archive),
        sqs: () => ({ send: () => Promise.reject(new Error('nothing is parked')) }),
      } as never,
      idempotentRunner,
    );
    for (const Records of lateRecords((await this.missing(rows)).rows)) await this.#archiver({ Records, isLate: true });
    return [...this.archive.objects.keys()].filter((name) => !before.has(name));
  }

  async findings(bounds: Bounds = NO_BOUNDS): Promise<readonly { readonly kind: string }[]> {
    const parts = rowFiles();
    const sources = { archive: archivedLines(this.archive), ledger: ledgerOf(ledger), parts };
    const rows = await verifyRows({ ...sources, save: () => undefined }, { bounds });
    parts.close();
    const tools = { manifests: this.manifests, digest: systemDigest };
    const listed = await verifyManifests(tools, bounds, this.clock.nowMs());
    return [...rows.findings, ...listed.findings];
  }
}

describe('rows of a parked batch', () => {
  test('are archived days later with equal bytes, and are listed once, in the next manifest', async () => {
    const lost = ledger.slice(2, 5);
    const behind = await Behind.lacking(lost);
    await behind.hours(50);
    expect((await behind.findings()).map(({ kind }) => kind)).toEqual(lost.map(() => 'not_archived'));
    const { rows } = await behind.missing();
    expect(rows.map(({ item }) => keyOf(item)).sort()).toEqual(lost.map(keyOf).sort());

    const names = await behind.putBack();
    expect(names).toEqual([expect.stringMatching(new RegExp(`^${LATE_PREFIX}2026/`))]);
    behind.clock.advance(HOUR_MS);
    expect(await behind.list()).toMatchObject([{ objects: [{ name: names[0], lines: lost.length }] }]);
    expect(await behind.findings()).toEqual([]);
    // No further manifest lists the late objects, even 60 hours later, when manifests no longer cover their hour.
    await behind.hours(60);
    const written = [...behind.archive.objects.values()].filter(({ name }) => name.startsWith('manifests/'));
    expect(written.filter(({ text }) => text.includes(LATE_PREFIX))).toHaveLength(1);
    expect(await behind.findings()).toEqual([]);
  });

  test('are found if they were copied to the Ledger hours after their time; the search begins no earlier than the archive', async () => {
    const [lost = {}] = ledger.filter(({ sk }) => String(sk).startsWith('T#'));
    const behind = await Behind.lacking([lost]);
    await behind.hours(6);
    const copiedMs = timeOf(lost) + 5 * HOUR_MS;
    expect(await behind.missingOf(copiedMs, true)).toEqual([keyOf(lost)]);
    expect(await behind.missingOf(timeOf(lost), false)).toEqual([keyOf(lost)]);
    // The archive has no earlier rows, so the search begins in its first hour.
    const range = { sinceMs: copiedMs, untilMs: copiedMs + 1 };
    const { fromMs } = await boundsOfBatch({ manifests: behind.manifests, digest: systemDigest }, range, true);
    expect(fromMs).toBe(Math.floor(Math.min(...ledger.map(timeOf)) / HOUR_MS) * HOUR_MS);
  });

  test('are found when their own period is verified, and are not read when a later period is verified', async () => {
    const behind = await Behind.lacking(ledger.slice(0, 3));
    await behind.hours(80);
    // More than a page of objects lies between the period of the rows and the late objects.
    await behind.arrive(ledger.slice(3, 15));
    await behind.putBack();
    await behind.hours(30);
    const day = { fromMs: Math.min(...ledger.map(timeOf)), untilMs: Math.max(...ledger.map(timeOf)) + 1 };
    expect(await behind.findings(day)).toEqual([]);
    const later = { fromMs: day.untilMs + 3 * DAY_MS, untilMs: behind.clock.nowMs() };
    expect(await behind.findings(later)).toEqual([]);
    // A verification of a period after the redrive does not read the late objects.
    const afterwards = { fromMs: behind.clock.nowMs() + 2 * DAY_MS, untilMs: behind.clock.nowMs() + 3 * DAY_MS };
    expect((await archivedLines(behind.archive).page(undefined, afterwards)).lines).toEqual([]);
  });

  test('are archived twice without a finding if an operator repeats the redrive before the archiver has processed the first one', async () => {
    const behind = await Behind.lacking(ledger.slice(1, 4));
    await behind.hours(30);
    const [once, again] = [await behind.missing(), await behind.missing()];
    expect(once.rows).toHaveLength(again.rows.length);
    const [first] = await behind.putBack();
    behind.clock.advance(HOUR_MS);
    expect(await behind.putBack()).toEqual([]);
    const object = behind.archive.objects.get(first ?? '');
    if (object === undefined) throw new Error('no object was put back');
    await behind.archive.put({ ...object, name: object.name.replace(/\/(\d{2})\/0-/, '/23/0-') });
    await behind.hours(2);
    expect(await behind.findings()).toEqual([]);
  });

  test('are refused as possible forgeries if their chain fails verification', async () => {
    const [row = {}, ...others] = ledger.filter(({ pk }) => pk === ledger[0]?.['pk']);
    const behind = await Behind.lacking([row, ...others]);
    await behind.hours(30);
    const forged = ledger.map((each) => (each === row ? { ...each, hash: new Uint8Array(32) } : each));
    expect(await behind.missing(forged)).toEqual({ rows: [], broken: [row['pk']] });
    expect(await behind.putBack(forged)).toEqual([]);
  });

  test('are archived in a late object, which is reported if no manifest lists it', async () => {
    const behind = await Behind.lacking(ledger.slice(2, 5));
    await behind.hours(30);
    const [name = ''] = await behind.putBack();
    const object = behind.archive.objects.get(name);
    if (object === undefined) throw new Error('no object was put back');
    await behind.hours(1);
    // Stores a copy under the key of an earlier hour, whose manifests were already written.
    const foreign = name.replace(/late\/\d{4}/, 'late/2020');
    await behind.archive.put({ ...object, name: foreign });
    await behind.hours(2);
    expect(await behind.findings()).toEqual([{ kind: 'object_unlisted', object: foreign }]);
  });

  test('are listed once after a pause of several days, even if several manifests are written in succession', async () => {
    const behind = await Behind.lacking(ledger.slice(2, 6));
    await behind.hours(26);
    behind.clock.advance(2 * DAY_MS);
    const [late] = await behind.putBack();
    behind.clock.advance(DAY_MS);
    await behind.arrive(ledger.slice(0, 9));
    const listed = (await behind.list({ most: 2 })).flatMap(({ objects }) => objects.map(({ name }) => name));
    expect(listed.filter((name) => name === late)).toEqual([late]);
    expect(new Set(listed).size).toBe(listed.length);
  });
});
