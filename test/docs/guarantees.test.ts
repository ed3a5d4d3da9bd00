import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const PROJECT = resolve(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');
const testFiles = new Set(globSync('test/**/*.ts', { cwd: PROJECT }));

/** Reads only the tables whose last column has the given name. `files` contains the paths in the last cell of a row. */
function rowsOf(page: string, column: string) {
  const tables = [
    ...read(page).matchAll(new RegExp(`^\\|.*\\| ${column} \\|\\n\\|[-|]+\\|\\n((?:\\|.*\\|\\n)+)`, 'gm')),
  ];
  return tables
    .flatMap(([, body = '']) => body.trim().split('\n'))
    .map((row) => {
      const cells = row.slice(2, -2).split(' | ');
      const files = [...(cells.at(-1) ?? '').matchAll(/`([^`]+)`/g)].map(([, file = '']) => file);
      return { name: cells[0] ?? '', files };
    });
}

function heldBy(file: string): readonly string[] {
  const [header = ''] = /^\/\*\*[^]*?\*\//.exec(read(file)) ?? [];
  return [...header.matchAll(/Tests the guarantee "([^"]+)"\./g)].map(([, name = '']) => name);
}

const pairs = (held: Iterable<readonly [string, string]>) => [...held].map(([name, file]) => `${name}: ${file}`).sort();

describe('docs/proof/guarantees.md', () => {
  const rows = rowsOf('docs/proof/guarantees.md', 'files');

  test('has 40 to 45 guarantees, each with its own name and one to three files', () => {
    expect(rows.length).toBeGreaterThanOrEqual(40);
    expect(rows.length).toBeLessThanOrEqual(45);
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length);
    expect(rows.filter(({ files }) => files.length === 0 || files.length > 3)).toEqual([]);
  });

  test('lists for each guarantee exactly the test files whose header names it', () => {
    const inHeaders = [...testFiles].flatMap((file) => heldBy(file).map((name) => [name, file] as const));
    const onPage = rows.flatMap(({ name, files }) => files.map((file) => [name, file] as const));
    expect(pairs(onPage)).toEqual(pairs(inHeaders));
  });
});

test('the README names only guarantees of docs/proof/guarantees.md', () => {
  const [, table = ''] = /^## Guarantees\n\n((?:\|.*\n)+)/m.exec(read('README.md')) ?? [];
  const named = [...table.matchAll(/^\| ([a-z ]+) \|/gm)].map(([, name = '']) => name);
  expect(named).toHaveLength(9);
  const known = new Set(rowsOf('docs/proof/guarantees.md', 'files').map(({ name }) => name));
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

describe('docs/proof/controls.md', () => {
  const rows = rowsOf('docs/proof/controls.md', 'test');

  test('names an existing test file for each control', () => {
    expect(rows.length).toBeGreaterThan(20);
    expect(rows.filter(({ files }) => files.length === 0)).toEqual([]);
    expect(rows.flatMap(({ files }) => files).filter((file) => !testFiles.has(file))).toEqual([]);
  });
});
