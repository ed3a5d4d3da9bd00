import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { TURNS } from '../support/slice.ts';
import { filesOnLocalAws, unitFiles } from './entries.ts';
import { COSTLY_FILES, changedRooms, changesSimulation, isSelected } from './turns.ts';

const TURN_NUMBERS = Array.from({ length: TURNS }, (_, number) => number);
const ENTRIES = [...unitFiles(), ...filesOnLocalAws('stores'), ...filesOnLocalAws('deployed')];
const FUZZ = 'test/http/fuzz.test.ts';
const isIn = (turn: number, file: string, changed: readonly string[] = []): boolean =>
  isSelected(file, { turn, changedRooms: changed });

test('the turns together run every test file, and each turn runs files of every entry', () => {
  for (const [entry, files] of ENTRIES) {
    const turns = TURN_NUMBERS.map((turn) => files.filter((file) => isIn(turn, `test/${file}`)));
    expect(new Set(turns.flat())).toEqual(new Set(files));
    expect({ entry, empty: turns.filter((each) => each.length === 0) }).toEqual({ entry, empty: [] });
  }
});

test('the costly files exist, and each runs in exactly one turn if its room has not changed', () => {
  const files = ENTRIES.flatMap(([, names]) => names.map((name) => `test/${name}`));
  const costly = Object.values(COSTLY_FILES).flat();
  expect(costly.filter((file) => !files.includes(file))).toEqual([]);
  expect(costly.filter((file) => TURN_NUMBERS.filter((turn) => isIn(turn, file)).length !== 1)).toEqual([]);
});

test('a costly file runs in every turn after a change of its room', () => {
  expect(TURN_NUMBERS.filter((turn) => isIn(turn, FUZZ, ['jobs']))).toHaveLength(1);
  expect(TURN_NUMBERS.filter((turn) => isIn(turn, FUZZ, ['http', 'jobs']))).toHaveLength(TURNS);
});

test.each([
  [['console', 'payments'], true],
  [['world'], true],
  [['console', 'docs'], false],
])(
  'all stories are played only after a change of the simulator or of a room of functions (changed: %j)',
  (changed, all) => {
    expect(changesSimulation({ turn: 0, changedRooms: changed })).toBe(all);
  },
);

test('a suite that runs alone runs every file', () => {
  expect(isSelected(FUZZ, undefined)).toBe(true);
});

test('the changed rooms are those of uncommitted files, or else those of the last commit', async () => {
  const tree = mkdtempSync(join(tmpdir(), 'payonce-rooms-'));
  // Settings of the developer, and variables that a git hook sets, must not apply to this repository.
  const env = { PATH: process.env['PATH'], HOME: tree, GIT_CONFIG_GLOBAL: devNull, GIT_CONFIG_NOSYSTEM: '1' };
  const git = (...command: readonly string[]): unknown =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...command], { cwd: tree, env });
  const write = (path: string): void => {
    mkdirSync(join(tree, dirname(path)), { recursive: true });
    writeFileSync(join(tree, path), path);
  };
  const commit = (...paths: readonly string[]): void => {
    for (const path of paths) write(path);
    git('add', '--all');
    git('commit', '--quiet', '--message=change');
  };
  try {
    git('init', '--quiet');
    commit('lib/roles/a.ts', 'lambdas/orders/use/a.ts');
    expect(await changedRooms(tree)).toEqual([]);
    commit('lambdas/jobs/use/ä b.ts', 'cli/a.ts', 'clients/python/a.py', 'README.md');
    expect(await changedRooms(tree)).toEqual(['cli', 'client', 'docs', 'jobs']);
    // A file that concerns no room.
    write('.editorconfig');
    expect(await changedRooms(tree)).toEqual(['cli', 'client', 'docs', 'jobs']);
    write('test/http/a.test.ts');
    git('mv', 'lambdas/orders/use/a.ts', 'lambdas/jobs/use/a.ts');
    expect(await changedRooms(tree)).toEqual(['http', 'jobs', 'orders']);
    write('test/support/a.ts');
    expect(await changedRooms(tree)).toBeUndefined();
  } finally {
    rmSync(tree, { recursive: true, force: true });
  }
});

test('without a repository, no room is known to have changed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'payonce-rooms-'));
  try {
    expect(await changedRooms(folder)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
