import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { POINTS } from '../../cli/conformance.ts';

const read = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8');

test('docs/guides/processor-protocol.md lists exactly the checks of the conformance suite', () => {
  const [, table = ''] = read('guides/processor-protocol.md').split(/^## .*[Cc]onform.*$/m);
  const listed = [...table.matchAll(/^\| `([a-z-]+)` \| (.+) \|$/gm)].map(([, name, must]) => [
    name,
    must?.replaceAll('`', ''),
  ]);
  expect(listed).toEqual(POINTS.map(({ name, must }) => [name, must]));
});
