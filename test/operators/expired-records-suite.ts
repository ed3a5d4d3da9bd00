import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ExpiredRecord, ExpiredRecords } from '../../lambdas/operators/use/expired-records.ts';

export interface PutRecord {
  readonly key: string;
  readonly status: 'INPROGRESS' | 'pending' | 'failed' | 'COMPLETED';
  readonly expiresAtSeconds?: number;
}

interface Subject {
  readonly records: ExpiredRecords;
  /**
   * Whether the response to each write is lost once. The caller then cannot know whether its own call deleted the
   * record.
   */
  readonly losesResponses?: boolean;
  put(record: PutRecord): Promise<void>;
  keys(): Promise<readonly string[]>;
}

const BEFORE = 1_700_000_000;
const SEGMENTS = 3;
const MAX_STEPS = 100;

export function describeExpiredRecords(name: string, make: () => Promise<Subject>): void {
  let subject: Subject;
  beforeEach(async () => {
    subject = await make();
  });

  async function scanned(): Promise<readonly ExpiredRecord[]> {
    const all: ExpiredRecord[] = [];
    for (let segment = 0; segment < SEGMENTS; segment += 1) {
      let after: string | undefined;
      for (let step = 0; step < MAX_STEPS; step += 1) {
        const from = { segment, segments: SEGMENTS, ...(after === undefined ? {} : { after }) };
        const { found, next } = await subject.records.scan(from, BEFORE);
        all.push(...found);
        after = next;
        if (after === undefined) break;
      }
    }
    return all.sort((left, right) => (left.key < right.key ? -1 : 1));
  }

  describe(`${name}: expired records`, () => {
    test('are completed records past their expiry, but never open records or records without an expiry', async () => {
      await subject.put({ key: 'OP#a', status: 'COMPLETED', expiresAtSeconds: BEFORE - 1 });
      await subject.put({ key: 'OP#bb', status: 'COMPLETED', expiresAtSeconds: BEFORE });
      await subject.put({ key: 'OP#ccc', status: 'COMPLETED', expiresAtSeconds: BEFORE + 1 });
      await subject.put({ key: 'OP#d', status: 'COMPLETED' });
      for (const status of ['INPROGRESS', 'pending', 'failed'] as const) {
        await subject.put({ key: `OP#${status}`, status });
        await subject.put({ key: `OP#${status}#dated`, status, expiresAtSeconds: 1 });
      }
      await subject.put({ key: 'OP#zz', status: 'COMPLETED', expiresAtSeconds: 1 });

      expect(await scanned()).toEqual([
        { key: 'OP#a', expiresAtSeconds: BEFORE - 1 },
        { key: 'OP#zz', expiresAtSeconds: 1 },
      ]);
    });

    test('are deleted once, and only if unchanged', async () => {
      for (const key of ['OP#1', 'OP#2', 'OP#3', 'OP#4']) {
        await subject.put({ key, status: 'COMPLETED', expiresAtSeconds: 10 });
      }
      const found = await scanned();
      expect(found).toHaveLength(4);
      await subject.put({ key: 'OP#2', status: 'COMPLETED', expiresAtSeconds: BEFORE + 10 });
      await subject.put({ key: 'OP#3', status: 'INPROGRESS', expiresAtSeconds: 10 });
      await subject.put({ key: 'OP#4', status: 'COMPLETED' });

      const removed: boolean[] = [];
      for (const record of [...found, ...found]) removed.push(await subject.records.remove(record));

      const first = subject.losesResponses !== true;
      expect(removed).toEqual([first, false, false, false, false, false, false, false]);
      expect((await subject.keys()).toSorted()).toEqual(['OP#2', 'OP#3', 'OP#4']);
    });
  });
}
