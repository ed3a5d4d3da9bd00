import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { PAGES } from '../../docs/generate/pages.ts';
import { checkUrl } from '../../lambdas/webhooks/transport/addresses.ts';
import { magicSource } from '../../sandbox/magic-sources.ts';

const PROJECT = resolve(import.meta.dirname, '..', '..');
const read = (path: string): string => readFileSync(join(PROJECT, path), 'utf8');

describe('links between documents', () => {
  const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: PROJECT });

  const generated = PAGES.map(([file]) => `generated/docs/${file}`);

  test.each(documents)('in %s lead to existing files', (document) => {
    const links = [
      ...read(document)
        .replaceAll(/\s+/g, ' ')
        .matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)( \(written by `npm ci`\))?/g),
    ];
    const broken = links.filter(([, target = '', note]) => {
      if (/^https?:/.test(target)) return false;
      const path = join(dirname(document), target);
      return path.startsWith('generated')
        ? note === undefined || ![...generated, 'generated/processor-protocol.json'].includes(path)
        : !existsSync(join(PROJECT, path));
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  test('lead from the indexes to every page', () => {
    const linked = ['README.md', 'docs/README.md', 'docs/operate/runbook/README.md'].flatMap((index) =>
      [...read(index).matchAll(/\]\(([^)#]+)/g)].map(([, target = '']) => join(dirname(index), target)),
    );
    const pages = [
      ...globSync('docs/**/*.md', { cwd: PROJECT }).filter((page) => !/decisions\/0/.test(page)),
      ...globSync('*.md', { cwd: PROJECT }).filter((page) => page !== 'README.md'),
      ...generated,
    ];
    expect(pages.filter((page) => page !== 'docs/README.md' && !linked.includes(page))).toEqual([]);
  });
});

test('the API accepts the addresses of all webhook endpoints in the documents', () => {
  const text = globSync(['*.md', 'docs/**/*.md'], { cwd: PROJECT }).map(read).join('\n');
  const urls = [...text.matchAll(/"url":"([^"]+)","events"/g)].map(([, url = '']) => url);
  expect(urls).not.toEqual([]);
  expect(urls.filter((url) => checkUrl(url, { allowLoopback: false }).kind !== 'good')).toEqual([]);
});

test.each([
  ['examples/loyalty/loyalty.ts', 100],
  ['examples/shop/shop.ts', 150],
])('%s has at most %i lines', (file, most) => {
  expect(read(file).trimEnd().split('\n').length).toBeLessThanOrEqual(most);
});

describe('TypeScript examples in the documents', () => {
  const code = globSync(['{client,lambdas}/**/*.ts', 'lib/*.ts'], { cwd: PROJECT })
    .map((file) => read(file).replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, ''))
    .join('\n');
  const examples = globSync('docs/**/*.md', { cwd: PROJECT }).flatMap((document) =>
    [...read(document).matchAll(/```ts\n([^]*?)```/g)].map(([, example = '']) => [document, example] as const),
  );

  test.each(examples)('call only existing functions in %s', (_document, example) => {
    const called = [...example.matchAll(/\b([a-z]\w+)\(/g)].map(([, name = '']) => name);
    const made = ['async', 'cron', 'commissionRow', 'book', 'showDecline', 'grant', 'fromEventBusName'];
    expect(called.filter((name) => !made.includes(name) && !new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
  });
});

describe('decision records', () => {
  const index = read('docs/design/decisions/README.md');
  const records = globSync('0*.md', { cwd: join(PROJECT, 'docs/design/decisions') });

  test('number at most 45', () => {
    expect(records.length).toBeGreaterThan(0);
    expect(records.length).toBeLessThanOrEqual(45);
  });

  test.each(records)('%s has its number in the heading, a status, and a row with a reason in the index', (file) => {
    const number = file.slice(0, 4);
    const [, title] = /^# \d{4}: (.+)\n\nStatus: accepted\n/.exec(read(`docs/design/decisions/${file}`)) ?? [];
    expect(read(`docs/design/decisions/${file}`)).toMatch(new RegExp(`^# ${number}: `));
    const row = `| [${number}](${file}) | ${title} | `;
    expect(index.split('\n').filter((line) => line.startsWith(row) && line.length > `${row} |`.length)).toHaveLength(1);
  });

  test('exist for every row in the index', () => {
    const named = [...index.matchAll(/^\| \[\d{4}\]\((.+?)\)/gm)].map(([, file]) => file);
    expect(new Set(named)).toEqual(new Set(records));
  });

  test('include every decision that a file references', () => {
    const files = globSync(
      ['*.md', '{bin,bridge,cli,client,console,demo,docs,examples,lambdas,lib,local,sandbox,test}/**/*.{md,ts,tsx}'],
      {
        cwd: PROJECT,
        exclude: ['**/node_modules/**'],
      },
    );
    const numbers = new Set(records.map((file) => file.slice(0, 4)));
    const cited = files.flatMap((file) =>
      [...read(file).matchAll(/\bdecisions?[ /](0\d{3})\b/gi)].map(([, number = '']) => ({ file, number })),
    );
    expect(cited.length).toBeGreaterThan(5);
    expect(cited.filter(({ number }) => !numbers.has(number))).toEqual([]);
  });
});

test('the glossary defines each word once', () => {
  const words = [...read('docs/reference/glossary.md').matchAll(/^\| ([^|]+) \|/gm)]
    .flatMap(([, cell = '']) => cell.split(', '))
    .filter((word) => word !== 'word' && !word.startsWith('---'));
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
});

describe("the sandbox's magic sources", () => {
  const sourcesIn = (document: string) => new Set(read(document).match(/tok_\w+/g));

  test.each(['docs/start/first-payment.md', 'docs/reference/sandbox.md'])('exist if %s names them', (document) => {
    const named = [...sourcesIn(document)];
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((source) => magicSource(source) === undefined)).toEqual([]);
  });

  test('are all listed in docs/reference/sandbox.md', () => {
    const inCode = sourcesIn('sandbox/magic-sources.ts');
    expect(sourcesIn('docs/reference/sandbox.md')).toEqual(inCode);
  });
});
