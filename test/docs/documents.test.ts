import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { JOBS } from '../../lambdas/kernel/contract/jobs.ts';
import { BacklogMetric } from '../../lambdas/resolving/contract.ts';
import { magicSource } from '../../sandbox/magic-sources.ts';

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

  test.each(named)('%s › %s exists', (file, name) => {
    expect(read(file).replaceAll(/\\'/g, "'")).toContain(name);
  });
});

describe('links between documents', () => {
  const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: PROJECT });

  test.each(documents)('of %s have an existing target', (document) => {
    const links = [...read(document).matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) => target);
    const broken = links.filter(
      (target) => !/^https?:/.test(target) && !existsSync(join(PROJECT, dirname(document), target)),
    );
    expect(broken).toEqual([]);
  });

  test('lead from the README to every page', () => {
    const pages = [
      ...globSync('docs/*.md', { cwd: PROJECT }),
      'docs/decisions/README.md',
      'CONTRIBUTING.md',
      'SECURITY.md',
    ];
    expect(pages.filter((page) => !read('README.md').includes(`](${page}`))).toEqual([]);
  });
});

describe('TypeScript examples of the documents', () => {
  const code = globSync('lambdas/**/*.ts', { cwd: PROJECT }).map(read).join('\n');
  const examples = globSync('docs/*.md', { cwd: PROJECT }).flatMap((document) =>
    [...read(document).matchAll(/```ts\n([^]*?)```/g)].map(([, example = '']) => [document, example] as const),
  );

  test.each(examples)('of %s call only functions that the code has', (_document, example) => {
    const called = [...example.matchAll(/\b([a-z]\w+)\(/g)].map(([, name = '']) => name);
    const made = ['async', 'cron', 'commissionRow'];
    expect(called.filter((name) => !made.includes(name) && !new RegExp(`\\b${name}\\b`).test(code))).toEqual([]);
  });
});

/** Besides one for each job: the backlog, and the mismatches. */
const REPORTED_WITHOUT_REQUESTS = Object.keys(BacklogMetric).length + 1;

describe('docs/costs.md', () => {
  const page = read('docs/costs.md');
  const cells = (row: string) => row.split('|').map((cell) => cell.trim());
  const tables = [...page.matchAll(/\| what \| number .*\n.*\n((?:\|.*\n)+)/g)].map(([, rows = '']) =>
    rows.trim().split('\n').map(cells),
  );
  const totals = tables.map((rows) => Number(/[\d.]+/.exec(rows.at(-1)?.[4] ?? '')?.[0]));
  const [request = 0, callback = 0, fewest = 0, most = 0, webhook = 0, run = 0] = totals;
  const idle = [...page.matchAll(/^\| ([^|*]+?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$/gm)].slice(-6);
  const idleTotal = Number(/\*\*([\d.]+)\*\*(?![^]*\*\*)/.exec(page)?.[1]);

  test('multiplies and adds without an error, with the prices of its list', () => {
    expect(tables).toHaveLength(6);
    for (const [index, rows] of tables.entries()) {
      const parts = rows.slice(0, -1).map(([, what, number, price, usd]) => {
        expect(page).toMatch(new RegExp(`^\\| an? .+ \\| ${price} \\|$`, 'm'));
        expect([what, (Number(number) * Number(price)).toFixed(2)]).toEqual([what, usd]);
        return Number(usd);
      });
      expect(parts.reduce((sum, part) => sum + part).toFixed(2)).toBe(totals[index]?.toFixed(2));
    }
    expect(page).toContain(`${(request + callback + fewest).toFixed(2)} USD per million under load`);
    expect(page).toContain(`${(request + 1.25 + callback + most).toFixed(2)} USD per million one by one`);
  });

  test('adds up the items of an idle deployment', () => {
    const runsPerMonth = JOBS.map(({ every }) => (730 * 3_600) / every).reduce((sum, runs) => sum + runs);
    expect(idle.at(-1)?.slice(2, 4)).toEqual([(runsPerMonth / 1_000).toFixed(1), String(run / 1_000)]);
    const hourly = JOBS.filter(({ every }) => every <= 3_600).length;
    expect(idle.find(([row]) => /custom metrics/.test(row))?.[2]).toBe(String(hourly + REPORTED_WITHOUT_REQUESTS));
    for (const [row, , number, each, perMonth] of idle)
      expect([row, (Number(number) * Number(each)).toFixed(2)]).toEqual([row, perMonth]);
    expect(idle.reduce((sum, [, , , , perMonth]) => sum + Number(perMonth), 0).toFixed(2)).toBe(idleTotal.toFixed(2));
  });

  test('has the figures of the README', () => {
    const readme = read('README.md');
    const figure = (about: RegExp) =>
      new RegExp(`^\\| ${about.source}.* \\| (.+) USD per million \\|$`, 'm').exec(readme)?.[1];

    expect(figure(/the request of a payment/)).toBe(`about ${Math.round(request)}`);
    expect(figure(/a callback/)).toBe(`about ${Math.round(callback)}`);
    expect(figure(/a webhook/)).toBe(`about ${Math.round(webhook)}`);
    expect(readme).toMatch(
      new RegExp(`^\\| an idle deployment: .* \\| about ${Math.round(idleTotal)} USD per month \\|$`, 'm'),
    );
    const [low, high] = [request + callback + fewest, request + 1.25 + callback + most];
    expect(figure(/a payment with one callback/)).toBe(`${Math.round(low)} to ${Math.round(high)}`);
  });
});

describe('decision records', () => {
  const index = read('docs/decisions/README.md');
  const records = globSync('0*.md', { cwd: join(PROJECT, 'docs/decisions') });

  test.each(records)('%s has its number in the heading, a status, and a row in the index', (file) => {
    const number = file.slice(0, 4);
    const [, title, status] = /^# \d{4}: (.+)\n\nStatus: (.+)\n/.exec(read(`docs/decisions/${file}`)) ?? [];
    expect(read(`docs/decisions/${file}`)).toMatch(new RegExp(`^# ${number}: `));
    expect(status).toMatch(/^(accepted|superseded by \[\d{4}\])/);
    expect(index).toContain(`| [${number}](${file}) | ${title} | ${status} |`);
  });
});

test('the glossary defines each word once', () => {
  const words = [...read('docs/glossary.md').matchAll(/^\| ([^|]+) \|/gm)]
    .flatMap(([, cell = '']) => cell.split(', '))
    .filter((word) => word !== 'word' && !word.startsWith('---'));
  expect(words.filter((word, index) => words.indexOf(word) !== index)).toEqual([]);
});

describe('magic sources of the sandbox', () => {
  const sourcesIn = (document: string) => new Set(read(document).match(/tok_\w+/g));

  test.each(['README.md', 'docs/architecture.md'])('in %s exist', (document) => {
    const named = [...sourcesIn(document)];
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((source) => magicSource(source) === undefined)).toEqual([]);
  });

  test('are all listed in docs/architecture.md', () => {
    const inCode = sourcesIn('sandbox/magic-sources.ts');
    expect(sourcesIn('docs/architecture.md')).toEqual(inCode);
  });
});
