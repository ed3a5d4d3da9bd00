import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { LedgerRow, RegistryRow } from '../../lambdas/kernel/contract/rows.ts';

const PROJECT = resolve(import.meta.dirname, '..', '..');
const ROOMS = readdirSync(join(PROJECT, 'lambdas'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
const readmeOf = (room: string): string => readFileSync(join(PROJECT, 'lambdas', room, 'README.md'), 'utf8');

describe('the README of each capability folder', () => {
  test.each(ROOMS)('%s is short, has the four sections, and names only existing files', (room) => {
    const text = readmeOf(room);
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

  test('names each kind of Ledger and Registry row in exactly one README', () => {
    const texts = ROOMS.map((room) => [room, readmeOf(room)] as const);
    const owners = [...Object.values(LedgerRow), ...Object.values(RegistryRow)].map((prefix) => ({
      prefix,
      rooms: texts.filter(([, text]) => text.includes(`\`${prefix}\``)).map(([room]) => room),
    }));
    expect(owners.filter(({ rooms }) => rooms.length !== 1)).toEqual([]);
  });
});
