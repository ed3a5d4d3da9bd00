import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';
import { unitFiles } from '../run/entries.ts';
import { inTurn, sliceOf } from './slice.ts';

const CASES = Array.from({ length: 100 }, (_, index) => index);

test.each([1, 2, 3, 7, 36, 100, 101])('%d slices together run every case exactly once', (parts) => {
  const slices = Array.from({ length: parts }, (_, slice) => sliceOf(CASES, parts, { slice, proving: false }));
  expect(slices.flat().toSorted((left, right) => left - right)).toEqual(CASES);
});

test('a test that takes turns with two others runs in one of every three slices, and in every proof run', () => {
  const turns = [0, 1, 2, 3, 4, 5].map((slice) =>
    inTurn('played', { place: 1, of: 3, otherwise: '-' }, { slice, proving: false }),
  );
  expect(turns).toEqual(['-', 'played', '-', '-', 'played', '-']);
  expect(inTurn('played', { place: 1, of: 3, otherwise: '-' }, { slice: 0, proving: true })).toBe('played');
});

test('a slice number beyond the number of parts wraps around', () => {
  const [first, other] = [3, 3 + 7 * 1_000_003].map((slice) => sliceOf(CASES, 7, { slice, proving: false }));
  expect(other).toEqual(first);
});

test('a proof run runs every case, regardless of the slice', () => {
  expect(sliceOf(CASES, 7, { slice: 3, proving: true })).toEqual(CASES);
});

const FOREIGN = /^(?:node_modules|\.git|\.payonce|cdk\.out|dist|coverage|test\/entries)(?:\/|$)/;

function testFiles(folder = ''): readonly string[] {
  return readdirSync(join(PROJECT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (FOREIGN.test(path)) return [];
    if (entry.isDirectory()) return testFiles(path);
    const isTest = /\.[cm]?[jt]sx?$/.test(path) && (/[._](?:test|spec)\./.test(path) || definesTests(path));
    return isTest ? [path.split(sep).join('/')] : [];
  });
}

const definesTests = (path: string): boolean => {
  const text = readFileSync(join(PROJECT, path), 'utf8');
  return /^(?:test|it|describe)(?:\.\w+)*\(/m.test(text) && text.includes('@jest/globals');
};

test('every test file runs in "npm test" or in "npm run prove"', () => {
  const rooms = [...unitFiles().values()].flat().map((file) => `test/${file}`);
  const onLocalAws = /^test\/.+\.(?:stores|deployed|drill)\.test\.ts$/;
  const all = testFiles();
  expect(all.filter((file) => !rooms.includes(file) && !onLocalAws.test(file))).toEqual([]);
  expect(rooms.filter((file) => !all.includes(file))).toEqual([]);
  expect(all.length).toBeGreaterThan(400);
});
