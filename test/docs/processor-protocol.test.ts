import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { POINTS } from '../../cli/conformance.ts';
import { processorProtocol } from '../../docs/generate/processor-protocol.ts';

const read = (path: string): string => readFileSync(new URL(`../../docs/${path}`, import.meta.url), 'utf8');

test('docs/reference/processor-protocol.json equals the protocol in the code (to update it: npm run docs:tables)', () => {
  expect(read('reference/processor-protocol.json')).toBe(processorProtocol());
});

test('docs/guides/processor-protocol.md lists exactly the checks of the conformance suite', () => {
  const listed = [...read('guides/processor-protocol.md').matchAll(/^\| `([a-z-]+)` \| (.+) \|$/gm)].map(
    ([, name, must]) => [name, must?.replaceAll('`', '')],
  );
  expect(listed).toEqual(POINTS.map(({ name, must }) => [name, must]));
});
