import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from '@jest/globals';

const PROJECT = resolve(import.meta.dirname, '..', '..', '..', '..');
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

const NAMED = /(?:oracle: |const (?:ORACLE|BOOKS) = |wrong\((?='[IF]\d))'([^']+)'/g;

test('docs/proof/simulator.md lists exactly the oracles in the code, each with its file', () => {
  const files = globSync(['test/world/simulator/oracles/*.ts', 'test/world/simulator/coverage.ts'], { cwd: PROJECT })
    .filter((file) => !file.endsWith('.test.ts'))
    .map((file) => [/(\w+)\.ts$/.exec(file)?.[1] ?? file, read(file)] as const);
  const named = files.flatMap(([file, text]) =>
    [...text.matchAll(NAMED)].map(([, oracle = '']) => [oracle, file] as const),
  );
  const inCode = Object.entries(Object.groupBy(named, ([oracle]) => oracle)).map(
    ([oracle, found = []]) => `${oracle}: ${[...new Set(found.map(([, file]) => file))].toSorted().join(', ')}`,
  );
  const [, section = ''] = read('docs/proof/simulator.md').split('## Oracles');
  const documented = [...section.matchAll(/^\| ([^|]+) \|[^|]*\| `([^`]+)` \|$/gm)].map(
    ([, oracle = '', file = '']) => `${oracle}: ${file.split(', ').toSorted().join(', ')}`,
  );
  expect(documented.length).toBeGreaterThan(40);
  expect(documented.toSorted()).toEqual(inCode.toSorted());
});
