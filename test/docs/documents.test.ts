import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';

const PROJECT = resolve(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

describe('docs/guarantees.md', () => {
  const rows = [...read('docs/guarantees.md').matchAll(/\| `(test\/[^`]+)` › (.+?) \|$/gm)];
  const named = rows.map(([, file = '', name = '']) => [file, name] as const);

  test('names a test for each guarantee', () => {
    expect(named.length).toBeGreaterThan(35);
    expect(
      read('docs/guarantees.md')
        .match(/^\| .* \|$/gm)
        ?.filter((row) => !/guarantee \| test|---/.test(row)),
    ).toHaveLength(named.length);
  });

  test.each(named)('%s › %s is there', (file, name) => {
    expect(read(file).replaceAll(/\\'/g, "'")).toContain(name);
  });
});

describe('every link between documents', () => {
  const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: PROJECT });

  test.each(documents)('of %s leads somewhere', (document) => {
    const links = [...read(document).matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) => target);
    const broken = links.filter(
      (target) => !/^https?:/.test(target) && !existsSync(join(PROJECT, dirname(document), target)),
    );
    expect(broken).toEqual([]);
  });
});
