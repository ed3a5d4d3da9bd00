import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { licenceFaults, lockedPackages, shipped } from '../../docs/generate/third-party.ts';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('shipped packages', () => {
  test('have licences that require no more than a notice', () => {
    expect(licenceFaults(lockedPackages())).toEqual([]);
  });

  test('state the licence and version that the lockfile records', () => {
    const packages = shipped(lockedPackages());
    expect(packages.length).toBeGreaterThan(20);
    const other = packages.filter(([path, { license, version }]) => {
      const own = JSON.parse(read(`${path}/package.json`)) as Record<'license' | 'version', string>;
      return own.license !== license || own.version !== version;
    });
    expect(other).toEqual([]);
  });

  test('include every dependency of package.json', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { readonly dependencies: Record<string, string> };
    const names = new Set(shipped(lockedPackages()).map(([path]) => path.slice('node_modules/'.length)));
    expect(Object.keys(dependencies).filter((name) => !names.has(name))).toEqual([]);
  });
});

describe('a licence', () => {
  const faultsOf = (license: string | undefined, rest = {}) =>
    licenceFaults({ 'node_modules/x': { version: '1.0.0', ...(license === undefined ? {} : { license }), ...rest } });

  test.each([
    'GPL-3.0-or-later',
    'AGPL-3.0-only',
    'LGPL-2.1',
    'MPL-2.0',
    'MIT AND GPL-3.0-only',
    '(MIT OR GPL-3.0-only) AND MPL-2.0',
    'SEE LICENSE IN LICENSE.md',
    'UNLICENSED',
    'BUSL-1.1',
    undefined,
  ])('%s is refused, and the package is named', (license) => {
    expect(faultsOf(license)).toEqual([expect.stringContaining(`x has ${license ?? 'no licence'}`)]);
  });

  test.each(['MIT', 'Apache-2.0', '(MIT OR GPL-3.0-or-later)', 'Apache-2.0 AND MIT'])('%s is allowed', (license) => {
    expect(faultsOf(license)).toEqual([]);
  });

  test('is not checked if the package is a development package', () => {
    expect(faultsOf('GPL-3.0-only', { dev: true })).toEqual([]);
  });
});
