/** Tests the guarantee "exact views". */
import { describe, expect, test } from '@jest/globals';
import { csvLine } from '../../lambdas/exports/domain/csv.ts';
import { ExportWorld, fileOfNumbers, LATER_MS, OWNER, watched } from './export-world.ts';

/** Enough for five parts. */
const COUNT = 95;

const counted = async (): Promise<number> => {
  const world = new ExportWorld(COUNT);
  const key = await world.make('exp_1');
  let calls = 0;
  const at = async (call: number) => {
    calls = call;
  };
  expect(await world.write(key, watched(world.tools, { at }))).toBe('ended');
  return calls;
};

test('an export is one file with all rows, and its record has the final number of rows and bytes', async () => {
  const world = new ExportWorld(COUNT);
  const key = await world.make('exp_1');

  expect(await world.write(key)).toBe('ended');

  expect(world.file(key)).toBe(fileOfNumbers(COUNT));
  expect(await world.exports.read(key)).toMatchObject({
    status: 'completed',
    rows: COUNT,
    bytes: fileOfNumbers(COUNT).length,
  });
  expect(await world.exports.open()).toEqual([]);
});

test('an export without rows is a file with only the column names', async () => {
  const world = new ExportWorld(0);
  const key = await world.make('exp_1');
  expect(await world.write(key)).toBe('ended');
  expect(world.file(key)).toBe('number,text\r\n');
});

describe('an export that ends at the time of its request', () => {
  test('includes rows whose events had not yet reached the Views when it was requested', async () => {
    const world = new ExportWorld(COUNT);
    const { clock, tools } = world;
    const askedMs = clock.nowMs();
    const key = { ...OWNER, id: 'exp_1' };
    await world.request(key.id, { untilMs: askedMs, createdAtMs: askedMs });
    const late: typeof tools.rows.entries.page = async (asked, after) => {
      const { rows, ...place } = await tools.rows.entries.page(asked, after);
      return {
        rows: rows.filter(([number]) => Number(number) < COUNT - 3 || clock.nowMs() >= askedMs + 9_000),
        ...place,
      };
    };
    const rows = { ...tools.rows, entries: { ...tools.rows.entries, page: late } };
    expect(await world.write(key, { ...tools, rows })).toBe('ended');
    expect(world.file(key)).toBe(fileOfNumbers(COUNT));
  });
});

test('an export waits for late rows for at most ten seconds, and does not wait if its range ended more than ten seconds ago', async () => {
  const world = new ExportWorld(COUNT);
  const { clock } = world;
  for (const [untilMs, longestMs] of [
    [clock.nowMs() - 60_000, 0],
    [clock.nowMs() + 24 * 60 * 60_000, 10_000],
  ] as const) {
    const key = { ...OWNER, id: `exp_${longestMs}` };
    await world.request(key.id, { untilMs });
    const beginMs = clock.nowMs();
    expect(await world.write(key)).toBe('ended');
    expect(clock.nowMs() - beginMs).toBe(longestMs);
  }
});

test('an export with few matching rows continues where its writers stopped, and has each row once', async () => {
  const pages = 200;
  const world = new ExportWorld(0);
  const { clock, tools } = world;
  let endsAtMs = 0;
  // Each page takes ten seconds, and Lambda ends each writer after five minutes.
  const page: typeof tools.rows.entries.page = async (_asked, after) => {
    clock.advance(10_000);
    if (clock.nowMs() >= endsAtMs) throw new Error('the writer was killed');
    const number = Number(after ?? 0);
    const rows = number % 10 === 0 ? [[number, 'a text']] : [];
    return { rows, ...(number + 1 < pages ? { next: String(number + 1) } : {}) };
  };
  const rows = { ...tools.rows, entries: { ...tools.rows.entries, page } };
  const key = await world.make('exp_1');
  const ends: unknown[] = [];
  while (!ends.includes('ended') && ends.length < 30) {
    endsAtMs = clock.nowMs() + 300_000;
    ends.push(await world.write(key, { ...tools, rows }, clock.nowMs() + 120_000).catch(() => 'killed'));
    if (ends.at(-1) === 'killed') clock.advance(60 * 60_000);
  }
  expect(ends.filter((end) => end === 'killed')).toEqual([]);
  const lines = Array.from({ length: pages / 10 }, (_, index) => csvLine([index * 10, 'a text']));
  expect(world.file(key)).toBe([csvLine(['number', 'text']), ...lines].join(''));
  expect(await world.exports.read(key)).toMatchObject({ status: 'completed', rows: pages / 10 });
});

test('a writer whose time is over finishes a part and then starts the next writer', async () => {
  const world = new ExportWorld(COUNT);
  const key = await world.make('exp_1');
  const ends: string[] = [];
  do ends.push(await world.write(key, world.tools, 0));
  while (ends.at(-1) === 'more');

  expect(ends.filter((end) => end === 'more').length).toBe(world.woken.length);
  expect(world.woken.length).toBeGreaterThan(2);
  expect(world.file(key)).toBe(fileOfNumbers(COUNT));
});

describe('a writer that is killed at any call', () => {
  test.each(['before', 'after'] as const)(
    'leaves the file to the next writer, and the file is written only once (killed %s the call)',
    async (dies) => {
      const calls = await counted();
      for (let fatal = 1; fatal <= calls; fatal += 1) {
        const world = new ExportWorld(COUNT);
        const key = await world.make('exp_1');
        let isDead = false;
        const at = async (call: number, when: string) => {
          if (call === fatal && when === dies) isDead = true;
          if (isDead) throw new Error('killed');
        };
        const end = await world.write(key, watched(world.tools, { at })).catch(() => 'killed');
        expect(end).toBe('killed');
        world.clock.advance(LATER_MS);

        expect(await world.write(key)).toBe('ended');
        expect(world.file(key)).toBe(fileOfNumbers(COUNT));
        expect(world.timesWritten(key)).toBe(1);
        expect(await world.exports.read(key)).toMatchObject({ status: 'completed', rows: COUNT });
        expect(await world.exports.open()).toEqual([]);
      }
    },
  );
});

test('a writer whose export another writer has taken over saves nothing, no matter at which call it resumes', async () => {
  const calls = await counted();
  for (let held = 2; held <= calls; held += 1) {
    const world = new ExportWorld(COUNT);
    const key = await world.make('exp_1');
    const at = async (call: number, when: string) => {
      if (call !== held || when !== 'before') return;
      world.clock.advance(LATER_MS);
      // Both writers have work left.
      expect(['more', 'ended']).toContain(await world.write(key, world.tools, 0));
      world.clock.advance(LATER_MS);
    };
    // The rival may already have completed the upload.
    await world.write(key, watched(world.tools, { at })).catch(() => undefined);
    world.clock.advance(LATER_MS);
    expect(await world.write(key)).toBe('ended');
    expect(world.file(key)).toBe(fileOfNumbers(COUNT));
    expect(world.timesWritten(key)).toBe(1);
  }
});

test('of several writers that are started concurrently, only one writes', async () => {
  const world = new ExportWorld(COUNT);
  const key = await world.make('exp_1');
  const ends = await Promise.all([world.write(key), world.write(key), world.write(key)]);
  expect(ends.toSorted()).toEqual(['busy', 'busy', 'ended']);
  expect(world.timesWritten(key)).toBe(1);
  expect(world.file(key)).toBe(fileOfNumbers(COUNT));
});

test('an export with rows that can never be read fails, and no longer counts toward the limit', async () => {
  const world = new ExportWorld(COUNT);
  const key = await world.make('exp_1');
  const page = () => Promise.reject(new Error('unreadable'));
  const rows = { ...world.tools.rows, entries: { columns: [], page } };
  for (let writer = 1; writer <= 20; writer += 1) {
    await expect(world.write(key, { ...world.tools, rows })).rejects.toThrow('unreadable');
    expect(await world.write(key, { ...world.tools, rows })).toBe('busy');
    world.clock.advance(writer * 30_000);
  }

  expect(await world.write(key, { ...world.tools, rows })).toBe('ended');
  expect(await world.exports.read(key)).toMatchObject({ status: 'failed', failure: 'not_readable' });
  expect(await world.exports.open()).toEqual([]);
  expect(world.files.uploads.size).toBe(0);
});

test('an export fails with the reason upload_lost if its upload was removed before its completion', async () => {
  const world = new ExportWorld(COUNT);
  const key = await world.make('exp_1');
  world.files.end = async () => false;
  expect(await world.write(key)).toBe('ended');
  expect(await world.exports.read(key)).toMatchObject({ status: 'failed', failure: 'upload_lost' });
});

describe('the exports of a tenant', () => {
  test('are limited to five unfinished exports, even if requests are concurrent', async () => {
    const world = new ExportWorld(1);
    const ids = Array.from({ length: 8 }, (_, index) => `exp_${index}`);
    const made = await Promise.all(ids.map((id) => world.request(id)));
    expect(made.filter(({ kind }) => kind === 'written')).toHaveLength(5);
    expect(made.filter(({ kind }) => kind === 'too_many')).toHaveLength(3);
    const [open] = await world.exports.open();
    if (open === undefined) throw new Error('five are open');

    await world.write(open);
    expect((await world.request('exp_9')).kind).toBe('written');
  });

  test('are limited only for new requests: at the limit, a retried request returns the existing export', async () => {
    const world = new ExportWorld(1);
    for (const id of ['exp_0', 'exp_1', 'exp_2', 'exp_3', 'exp_4']) await world.make(id);
    expect(await world.request('exp_3')).toMatchObject({
      kind: 'exists',
      found: { id: 'exp_3' },
    });
  });

  test('are listed newest first, in pages, without exports of other tenants', async () => {
    const world = new ExportWorld(1);
    for (const [index, id] of ['exp_b', 'exp_a', 'exp_c'].entries())
      await world.request(id, { createdAtMs: Date.UTC(2026, 2, 1) + index });
    const other = { ...OWNER, mode: 'live' as const };
    await world.request('exp_other', other);
    const ids = async (limit: number, after?: string) =>
      (await world.exports.list(OWNER, limit, after))?.map(({ id }) => id);

    expect(await ids(2)).toEqual(['exp_c', 'exp_a']);
    expect(await ids(2, 'exp_a')).toEqual(['exp_b']);
    expect(await ids(2, 'exp_other')).toBeUndefined();
  });
});
