import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { LedgerRow, RegistryRow } from '../../lambdas/kernel/contract/rows.ts';

const PROJECT = resolve(import.meta.dirname, '..', '..');
const ROOMS = readdirSync(join(PROJECT, 'lambdas'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
/** A code path lists the files in `lambdas/` that an execution runs through, in order. */
const CODE_PATH = /^\*\*Code path of (.+?)\.\*\* ([^]+?)\n\n/gm;
const readmeOf = (room: string): string => readFileSync(join(PROJECT, 'lambdas', room, 'README.md'), 'utf8');

describe('the README of each capability folder', () => {
  test.each(ROOMS)('%s is short, has the four sections, and names only existing files', (room) => {
    const text = readmeOf(room).replaceAll(CODE_PATH, '');
    const lines = text.trimEnd().split('\n');
    expect(lines[0]).toBe(`# ${room}`);
    expect(lines.length).toBeGreaterThanOrEqual(10);
    expect(lines.length).toBeLessThanOrEqual(20);
    expect(lines.filter((line) => line.length > 150)).toEqual([]);
    const parts = [...text.matchAll(/^\*\*(\w+)/gm)].map(([, part]) => part);
    expect(parts).toEqual(['Promises', 'Entry', expect.stringMatching(/^(Rows|Objects)$/), 'Do']);
    const files = [...text.matchAll(/`([\w./*-]+\.(?:ts|md|json))`/g)].map(([, file = '']) => file);
    const folder = join(PROJECT, 'lambdas', room);
    const missing = files.filter((file) => {
      const cwd = /^(?:lambdas|generated)\//.test(file) ? PROJECT : folder;
      return file.includes('*') ? globSync(file, { cwd }).length === 0 : !existsSync(join(cwd, file));
    });
    expect(missing).toEqual([]);
  });

  const codePaths = ROOMS.flatMap((room) => [...readmeOf(room).matchAll(CODE_PATH)]).map(([, of = '', files = '']) => ({
    of,
    files: [...files.matchAll(/[\w/-]+\.ts/g)].map(([file]) => file),
  }));

  test('contains code paths; together, the READMEs follow a payment, a refund, a callback, an order, a delivery and a run', () => {
    const named = ['a callback', 'a delivery', 'a payment', 'a refund', 'a run', 'an order'];
    expect(codePaths.map(({ of }) => of).sort()).toEqual(named);
  });

  test.each(codePaths)(
    'has a code path of $of that begins at a function and names only existing files, each once',
    ({ files }) => {
      expect(files[0]).toMatch(/^functions\//);
      expect(files.length).toBeGreaterThan(5);
      expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([]);
      expect(files.filter((file) => !existsSync(join(PROJECT, 'lambdas', file)))).toEqual([]);
    },
  );

  test('every kind of Ledger and Registry row is named in exactly one README', () => {
    const texts = ROOMS.map((room) => [room, readmeOf(room)] as const);
    const owners = [...Object.values(LedgerRow), ...Object.values(RegistryRow)].map((prefix) => ({
      prefix,
      rooms: texts.filter(([, text]) => text.includes(`\`${prefix}\``)).map(([room]) => room),
    }));
    expect(owners.filter(({ rooms }) => rooms.length !== 1)).toEqual([]);
  });
});
