import { beforeEach, describe, expect, test } from '@jest/globals';
import { ARCHIVED_WITHIN_MS } from '../../lambdas/archive/use/audit-archive.ts';
import { moveCarriedUntil, readCarriedUntil, SETTLED_AFTER_MS } from '../../lambdas/jobs/use/carried-until.ts';
import type { JobMarks } from '../../lambdas/jobs/use/job-marks.ts';

const NOW = Date.UTC(2026, 2, 1, 12);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

let mark: string | undefined;
const marks: JobMarks = {
  readMark: async () => mark,
  moveMark: async (_job, from, to) => {
    if (mark !== from) return false;
    mark = to;
    return true;
  },
};
beforeEach(() => {
  mark = undefined;
});

describe('the time until which the copies are complete', () => {
  test('is unknown before the first pass over the outbox, and is then set by each pass', async () => {
    expect(await readCarriedUntil(marks)).toBeUndefined();
    await moveCarriedUntil(marks, [NOW], NOW + MINUTE_MS);
    expect(await readCarriedUntil(marks)).toMatchObject({ untilMs: NOW, settledMs: 0 });
    await moveCarriedUntil(marks, [NOW + HOUR_MS], NOW + HOUR_MS);
    expect(await readCarriedUntil(marks)).toMatchObject({ untilMs: NOW + HOUR_MS, settledMs: NOW });
    // An operator requests that older rows be copied again.
    await moveCarriedUntil(marks, [NOW - HOUR_MS], NOW + HOUR_MS + MINUTE_MS);
    expect(await readCarriedUntil(marks)).toMatchObject({ untilMs: NOW - HOUR_MS, settledMs: NOW - HOUR_MS });
  });

  test('does not advance while the outbox of one database cannot be read, but moves back if another database reports an earlier time', async () => {
    await moveCarriedUntil(marks, [undefined, NOW], NOW);
    expect(await readCarriedUntil(marks)).toMatchObject({ untilMs: 0, latestMs: NOW });
    await moveCarriedUntil(marks, [NOW - HOUR_MS, NOW], NOW);
    await moveCarriedUntil(marks, [undefined, NOW + HOUR_MS], NOW + HOUR_MS);
    await moveCarriedUntil(marks, [NOW + HOUR_MS, undefined], NOW + 2 * HOUR_MS);
    const settledMs = NOW - HOUR_MS;
    expect(await readCarriedUntil(marks)).toMatchObject({ untilMs: settledMs, settledMs, latestMs: NOW + HOUR_MS });
    await moveCarriedUntil(marks, [undefined, NOW - 2 * HOUR_MS], NOW + 2 * HOUR_MS);
    expect(await readCarriedUntil(marks)).toMatchObject({ untilMs: NOW - 2 * HOUR_MS, settledMs: NOW - 2 * HOUR_MS });
  });

  test('also serves as the time of the database that is furthest ahead, if an earlier version wrote the mark', async () => {
    mark = JSON.stringify({ untilMs: NOW, settledMs: 0, next: { untilMs: NOW, atMs: NOW } });
    expect(await readCarriedUntil(marks)).toMatchObject({ untilMs: NOW, latestMs: NOW });
  });

  test('is not moved back by a run with a stale read', async () => {
    await moveCarriedUntil(marks, [NOW], NOW);
    const slow: JobMarks = {
      ...marks,
      readMark: async () => {
        const before = mark;
        await moveCarriedUntil(marks, [NOW + 2 * MINUTE_MS], NOW + 2 * MINUTE_MS);
        return before;
      },
    };
    await moveCarriedUntil(slow, [NOW + MINUTE_MS], NOW + MINUTE_MS);
    expect(await readCarriedUntil(marks)).toMatchObject({ untilMs: NOW + 2 * MINUTE_MS });
  });

  test('is settled half an hour after the second copy at the earliest, for rows that were copied twice', async () => {
    await moveCarriedUntil(marks, [NOW], NOW);
    await moveCarriedUntil(marks, [NOW - HOUR_MS], NOW + 5 * MINUTE_MS);
    const copiedMs = NOW + 25 * MINUTE_MS;
    for (let atMs = copiedMs; atMs < copiedMs + SETTLED_AFTER_MS; atMs += MINUTE_MS) {
      await moveCarriedUntil(marks, [atMs], atMs);
      expect((await readCarriedUntil(marks))?.settledMs).toBeLessThanOrEqual(NOW - HOUR_MS);
    }
  });

  test('is settled after half an hour at the earliest, so that rows that were copied late are archived first', async () => {
    expect(SETTLED_AFTER_MS).toBeGreaterThanOrEqual(ARCHIVED_WITHIN_MS);
    const settled: number[] = [];
    // Each pass over the outbox finds that all rows older than 26 minutes are copied.
    for (let minute = 0; minute <= 90; minute += 1) {
      const atMs = NOW + minute * MINUTE_MS;
      await moveCarriedUntil(marks, [atMs - 26 * MINUTE_MS], atMs);
      const { settledMs = 0 } = (await readCarriedUntil(marks)) ?? {};
      if (settled.at(-1) !== settledMs) settled.push(settledMs);
      expect(settledMs).toBeLessThanOrEqual(atMs - SETTLED_AFTER_MS - 26 * MINUTE_MS);
    }
    const firstMs = NOW - 26 * MINUTE_MS;
    expect(settled).toEqual([0, firstMs, firstMs + 30 * MINUTE_MS, firstMs + 60 * MINUTE_MS]);
  });
});
