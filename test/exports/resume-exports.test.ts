import { describe, expect, test } from '@jest/globals';
import type { ExportKey } from '../../lambdas/exports/domain/data-export.ts';
import { resumeExports } from '../../lambdas/exports/use/resume-exports.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { RUN } from '../support/causes.ts';
import { TABLES } from '../world/tables.ts';
import { ExportWorld, fileOfNumbers, OWNER, watched } from './export-world.ts';

/** Enough for five parts. */
const COUNT = 95;
const MINUTE_MS = 60_000;
/** Lambda makes three attempts for an asynchronous invocation. */
const TRIES = 3;

async function sweep(world: ExportWorld, { deadlineMs = Infinity } = {}) {
  const { clock } = world;
  const { exports, startWriter } = world.tools;
  const faults: unknown[] = [];
  const tools = { exports, startWriter, clock, report: (error: unknown) => faults.push(error) };
  const counts = await resumeExports(tools, { ...RUN, scheduledForMs: clock.nowMs(), deadlineMs });
  return { ...counts, faults };
}

async function die(world: ExportWorld, key: ExportKey, isKilled = true): Promise<void> {
  let isDead = false;
  const at = async (_call: number, _when: string, name: string) => {
    if (name === 'part') isDead = isKilled;
    if (isDead || name === 'part') throw new Error('away');
  };
  await expect(world.write(key, watched(world.tools, { at }))).rejects.toThrow('away');
}

test.each([true, false])(
  'an export that no caller reads is completed after three failures of its writer (killed: %s)',
  async (isKilled) => {
    const world = new ExportWorld(COUNT);
    const key = await world.make('exp_1');
    for (let writer = 0; writer < TRIES; writer += 1) {
      await die(world, key, isKilled);
      world.clock.advance(2 * MINUTE_MS);
    }
    expect(world.woken).toEqual([]);

    expect(await sweep(world)).toMatchObject({ done: 1, left: 0, failed: 0 });
    expect(world.woken).toMatchObject([key]);
    expect(await world.write(key)).toBe('ended');
    expect(world.file(key)).toBe(fileOfNumbers(COUNT));
    expect(await sweep(world)).toMatchObject({ done: 0, left: 0, failed: 0 });
    expect(world.woken).toHaveLength(1);
  },
);

test('the job starts a writer for an export that has none, but not for an export with an active writer', async () => {
  const world = new ExportWorld(COUNT);
  const createdAtMs = world.clock.nowMs();
  const [never, busy] = ['exp_1', 'exp_2'].map((id) => ({ ...OWNER, id })) as [ExportKey, ExportKey];
  const other = { ...OWNER, mode: 'live' as const, id: 'exp_3' };
  for (const { id, ...owner } of [never, busy, other]) await world.request(id, { ...owner, createdAtMs });
  expect(await sweep(world)).toMatchObject({ done: 0 });
  world.clock.advance(MINUTE_MS);
  let found: unknown;
  const at = async (call: number, when: string) => {
    if (call === 3 && when === 'before') found = await sweep(world);
  };
  await world.write(busy, watched(world.tools, { at }));
  expect(found).toMatchObject({ done: 2 });
  expect(world.woken.map(({ id }) => id).toSorted()).toEqual([never.id, other.id]);
});

test('a writer that cannot be started is reported, and the job still starts other writers', async () => {
  const world = new ExportWorld(COUNT);
  for (const id of ['exp_1', 'exp_2']) await world.make(id);
  world.clock.advance(MINUTE_MS);
  const { startWriter } = world.tools;
  const tools = {
    ...world.tools,
    startWriter: async (key: ExportKey) => {
      if (key.id === 'exp_1') throw new Error('Lambda is unavailable');
      await startWriter(key);
    },
  };
  const faults: unknown[] = [];
  const run = { ...RUN, scheduledForMs: 0, deadlineMs: Infinity };
  const counts = await resumeExports({ ...tools, report: (error) => faults.push(error) }, run);
  expect(counts).toEqual({ done: 1, left: 0, failed: 1 });
  expect(faults).toHaveLength(1);
});

test('a run leaves work to the next run when its time is over', async () => {
  const world = new ExportWorld(COUNT);
  for (const id of ['exp_1', 'exp_2']) await world.make(id);
  world.clock.advance(MINUTE_MS);
  expect(await sweep(world, { deadlineMs: world.clock.nowMs() })).toMatchObject({ done: 0, left: 2 });
});

describe('an export with unreadable rows', () => {
  const outage = async (minutes: number) => {
    const world = new ExportWorld(COUNT);
    const key = await world.make('exp_1');
    const read = async () => {
      const found = await world.exports.read(key);
      return found?.status;
    };
    for (let minute = 0; minute < minutes; minute += 1) {
      world.clock.advance(MINUTE_MS);
      world.woken.length = 0;
      await sweep(world);
      // Lambda retries a failed writer, and readers of the export start further writers.
      for (let writer = 0; writer < 5; writer += 1)
        if ((await read()) !== 'failed') await die(world, key, false).catch(() => undefined);
    }
    return { world, key, read };
  };

  test('survives an outage of an hour, regardless of the number of started writers', async () => {
    const { world, key, read } = await outage(60);
    expect(await read()).toBe('running');
    world.clock.advance(60 * MINUTE_MS);
    expect(await sweep(world)).toMatchObject({ done: 1 });
    expect(await world.write(key)).toBe('ended');
    expect(world.file(key)).toBe(fileOfNumbers(COUNT));
  });

  test('fails within a day, and is then removed from the queue', async () => {
    const { world, read } = await outage(24 * 60);
    expect(await read()).toBe('failed');
    expect(world.database.items(TABLES.registry, RegistryRow.openExports)).toEqual([]);
  });
});
