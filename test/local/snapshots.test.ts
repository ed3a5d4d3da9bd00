import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Snapshots } from '../../local/snapshots.ts';
import { NO_PROCESS } from './no-process.ts';

let directory = '';
let folder = '';
let state = '';
let target = '';
let snapshots: Snapshots;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'payonce-snapshots-'));
  folder = join(directory, 'snapshots');
  state = join(directory, 'state');
  target = join(directory, 'target');
  mkdirSync(join(state, 'lambda-blobs'), { recursive: true });
  writeFileSync(join(state, 'lambda.json'), '{"functions":1}');
  writeFileSync(join(state, 'lambda-blobs', 'a.zip'), Buffer.from([1, 2, 0, 255]));
  snapshots = new Snapshots(folder);
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const file = (...path: readonly string[]) => join(folder, 'key', 'files', ...path);
const manifest = () => join(folder, 'key', 'manifest.json');

describe('a snapshot', () => {
  test('can be restored unchanged any number of times', () => {
    snapshots.keep('key', state);
    writeFileSync(join(state, 'lambda.json'), 'from a later run');
    for (const copy of ['first', 'second']) {
      expect(snapshots.restore('key', join(directory, copy))).toBe(true);
      expect(readFileSync(join(directory, copy, 'lambda.json'), 'utf8')).toBe('{"functions":1}');
      expect([...readFileSync(join(directory, copy, 'lambda-blobs', 'a.zip'))]).toEqual([1, 2, 0, 255]);
    }
  });

  test('is not restored for another key', () => {
    snapshots.keep('key', state);
    expect(snapshots.restore('other', target)).toBe(false);
    expect(existsSync(target)).toBe(false);
  });

  test('can be read only by this user, because it contains secrets of the stacks', () => {
    snapshots.keep('key', state);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test('is stored once per key', () => {
    snapshots.keep('key', state);
    writeFileSync(join(state, 'lambda.json'), 'another');
    snapshots.keep('key', state);
    expect(readFileSync(file('lambda.json'), 'utf8')).toBe('{"functions":1}');
    expect(readdirSync(folder)).toEqual(['key']);
  });

  test.each<[damage: string, cause: () => void]>([
    ['a file was truncated', () => truncateSync(file('lambda-blobs', 'a.zip'), 3)],
    ['a byte was changed', () => writeFileSync(file('lambda.json'), '{"functions":2}')],
    ['a file grew', () => appendFileSync(file('lambda.json'), ' ')],
    ['a file is missing', () => rmSync(file('lambda.json'))],
    ['there is an additional file', () => writeFileSync(file('sqs.json'), '{}')],
    ['all files are missing', () => rmSync(file(), { recursive: true })],
    ['the manifest is missing', () => rmSync(manifest())],
    ['the manifest was truncated', () => truncateSync(manifest(), 20)],
    ['the manifest is empty', () => writeFileSync(manifest(), '')],
    ['the manifest has a different key', () => changeManifest({ key: 'other' })],
    ['the manifest has a different format', () => changeManifest({ format: 0 })],
    ['the manifest lists no files', () => changeManifest({ files: {} })],
  ])('is deleted, and can be stored again, if %s', (_damage, cause) => {
    snapshots.keep('key', state);
    cause();
    expect(snapshots.restore('key', target)).toBe(false);
    expect(readdirSync(directory).sort()).toEqual(['snapshots', 'state']);
    expect(readdirSync(folder)).toEqual([]);
    snapshots.keep('key', state);
    expect(snapshots.restore('key', target)).toBe(true);
  });

  test('is ignored, and is deleted later, if a killed process left it incomplete', () => {
    const left = join(folder, `partial-${NO_PROCESS}-0000`);
    mkdirSync(join(left, 'files'), { recursive: true });
    const underWay = join(folder, `partial-${process.pid}-0000`);
    mkdirSync(underWay);
    expect(snapshots.restore('key', target)).toBe(false);
    snapshots.keep('key', state);
    expect(readdirSync(folder).sort()).toEqual(['key', `partial-${process.pid}-0000`]);
  });

  test('is restored again if a killed process left the restored files incomplete', () => {
    mkdirSync(`${target}.partial`);
    writeFileSync(join(`${target}.partial`, 'sqs.json'), '{');
    snapshots.keep('key', state);
    expect(snapshots.restore('key', target)).toBe(true);
    expect(readdirSync(target).sort()).toEqual(['lambda-blobs', 'lambda.json']);
    expect(existsSync(`${target}.partial`)).toBe(false);
  });

  test('can be deleted by its key, even twice', () => {
    snapshots.keep('key', state);
    snapshots.drop('key');
    snapshots.drop('key');
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('only the three most recently used snapshots are kept', () => {
  ['a', 'b', 'c'].forEach((key, seconds) => {
    snapshots.keep(key, state);
    utimesSync(join(folder, key), 1_000 + seconds, 1_000 + seconds);
  });
  expect(snapshots.restore('a', target)).toBe(true);
  snapshots.keep('d', state);
  expect(readdirSync(folder).sort()).toEqual(['a', 'c', 'd']);
});

function changeManifest(change: object): void {
  writeFileSync(manifest(), JSON.stringify({ ...(JSON.parse(readFileSync(manifest(), 'utf8')) as object), ...change }));
}
